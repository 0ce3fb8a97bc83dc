#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What kernels are given and give: types, shapes and bytes, node by node, against ORT's own profile of the
same models. ORT leaves weights out that it has packed into a form of its own: of those we tell what the graph
says, which must be a weight of the model's file. Then FLOPs, worked out here from the profile's shapes."""
import collections
import math
import os

import harness as h
import op_profile as ops

VERSIONS = ["1.15.0", "1.17.3", "1.23.2", "1.30.0"]
RUNS = 2
# Element types as ORT's profile calls them, and bytes of one.
TYPES = {"float": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9,
         "float16": 10, "double": 11, "uint32": 12, "uint64": 13}
BYTES = {1: 4, 2: 1, 3: 1, 4: 2, 5: 2, 6: 4, 7: 8, 9: 1, 10: 2, 11: 8, 12: 4, 13: 8}

Given = collections.namedtuple("Given", "inputs outputs parameters activations results")


# ------------------------------------------------------------------------------ what ORT says


def tensors_of(described):
    """[{"float": [1, 3]}, ...] as a tuple of (type, dims)."""
    return tuple((TYPES[name], tuple(dims)) for one in described for name, dims in one.items())


def told(checker, version):
    """{model: {node: {Given}}}, {model: {node: type}}."""
    given, types = {}, {}
    for name, events in ops.profiles(checker, version, ops.MODELS, RUNS)[0].items():
        given[name], types[name] = collections.defaultdict(set), {}
        for node, args in ((node, event["args"]) for node, event in events):
            types[name][node] = args["op_name"]
            given[name][node].add(Given(
                tensors_of(args["input_type_shape"]), tensors_of(args["output_type_shape"]),
                int(args["parameter_size"]), int(args["activation_size"]), int(args["output_size"])))
    return given, types


# ------------------------------------------------------------------------------- what we say


def members_of(timeline):
    """The tensors of each set of shapes, in order."""
    sets = collections.defaultdict(list)
    for row in timeline.rows("tensor"):
        if row["onnx_type"] == 1:
            dims = tuple(int(d) for d in row["dims"].split(",")) if row["dims"] else ()
            sets[row["shape"]].append((row["index"], (row["element_type"], dims)))
    return {shape: tuple(tensor for _, tensor in sorted(found)) for shape, found in sets.items()}


def seen(timeline, part, sets):
    """The same of one session: {node: {Given}}."""
    nodes, given = {k["kernel"]: k["node"] for k in part.rows("kernel")}, collections.defaultdict(set)
    for row in timeline.rows("kernel_shape"):
        if row["kernel"] in nodes:
            given[nodes[row["kernel"]]].add(Given(
                sets.get(row["inputs"], ()), sets.get(row["outputs"], ()), row["parameter_bytes"],
                row["activation_bytes"], row["output_bytes"]))
    return given


def left_over(ours, theirs):
    """What ours has more than theirs, which is in ours in the same order; None: it is not."""
    more, at = [], 0
    for tensor in ours:
        if at < len(theirs) and tensor == theirs[at]:
            at += 1
        else:
            more.append(tensor)
    return more if at == len(theirs) else None


def bytes_of(tensors):
    return sum(BYTES[kind] * math.prod(dims) for kind, dims in tensors)


def difference(ours, theirs, weights):
    """What is wrong with one node, None: nothing. And what was packed away."""
    packed = left_over(ours.inputs, theirs.inputs)
    if packed is None or ours.outputs != theirs.outputs:
        return "tensors", []
    if (ours.activations, ours.results) != (theirs.activations, theirs.results):
        return "bytes of activations or outputs", []
    if ours.parameters != theirs.parameters + bytes_of(packed):
        return "bytes of parameters", packed
    if any(bytes_of([tensor]) not in weights for tensor in packed):
        return "packed tensors that are no weights", packed
    return None, packed


# ------------------------------------------------------------------------ weights of a model's file


def fields(data):
    """(number, value) of a protobuf message: integers and bytes."""
    at = 0

    def varint():
        nonlocal at
        result = shift = 0
        while True:
            byte = data[at]
            at += 1
            result |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return result
    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            size = varint() if key & 7 == 2 else {1: 8, 5: 4}[key & 7]
            yield key >> 3, data[at:at + size]
            at += size


def of_tensor(data):
    """Bytes of a TensorProto's elements: dims=1 (packed or not), data_type=2."""
    kind, dims = 0, []
    for number, content in fields(data):
        if number == 1 and isinstance(content, int):
            dims.append(content)
        elif number == 1:
            dims += unpacked(content)
        elif number == 2:
            kind = content
    return BYTES.get(kind, 0) * math.prod(dims)


def unpacked(data):
    values, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            values.append(value)
            value = shift = 0
    return values


def weights_of_graph(data):
    """GraphProto: node=1 {attribute=5 {t=5, g=6}}, initializer=5."""
    found = set()
    for number, content in fields(data):
        if number == 5:
            found.add(of_tensor(content))
        elif number == 1:
            for attribute in (c for n, c in fields(content) if n == 5):
                for kind, value in fields(attribute):
                    if kind == 5:
                        found.add(of_tensor(value))
                    elif kind == 6:
                        found |= weights_of_graph(value)
    return found


def weights(name):
    """How many bytes weights of this model have (optimising may turn one around)."""
    with open(os.path.join(h.ROOT, ops.SPECS[name][0]), "rb") as file:
        return set().union(*(weights_of_graph(c) for n, c in fields(file.read()) if n == 7))


# -------------------------------------------------------------------------------------- checks


def grouped(given):
    """[Given] by node. Which of several generated nodes has which number differs from load to load: they
    are taken together."""
    groups = collections.defaultdict(list)
    for node, several in given.items():
        groups[node.split("_token_")[0]] += several
    return {node: sorted(several) for node, several in groups.items()}


def check_model(checker, what, name, ours, theirs):
    """Node by node; how many weights were packed away."""
    wrong, packed, known = {}, [], weights(name)
    ours, theirs = grouped(ours), grouped(theirs)
    for node in theirs.keys() | ours.keys():
        mine, its = ours.get(node, []), theirs.get(node, [])
        if len(mine) != len(its):
            wrong[node] = ("given %d different things, not %d" % (len(mine), len(its)), mine, its)
        for one, other in zip(mine, its):
            problem, away = difference(one, other, known)
            packed += away
            if problem:
                wrong[node] = (problem, one, other)
    checker.equal(what + ": inputs, outputs and bytes of each node are those of ORT's profile",
                  list(wrong.items())[:2], [])
    print("         %s: %d nodes; %d weights packed away by ORT, %d bytes" % (
        what, len(theirs), len(packed), bytes_of(packed)), flush=True)
    return len(packed)


def flops_of(op_type, given):
    """From the definitions of the operators, with the shapes of ORT's profile; None: not counted."""
    if not given.inputs or not given.outputs:
        return None
    a, y = given.inputs[0][1], given.outputs[0][1]
    w = given.inputs[1][1] if len(given.inputs) > 1 else None
    if op_type in ("Conv", "FusedConv", "ConvTranspose") and w is None:
        return None
    if op_type in ("Conv", "FusedConv"):  # every output pixel meets a filter, in and multiplied out
        return 2 * math.prod(y) * w[1] * math.prod(w[2:])
    if op_type == "ConvTranspose":
        return 2 * math.prod(a) * w[1] * math.prod(w[2:])
    if op_type in ("MatMul", "Gemm", "FusedGemm"):
        return 2 * math.prod(y) * a[-1]
    if op_type == "FusedMatMul":  # either side may be transposed
        return 2 * math.prod(y) * (math.prod(a) // math.prod(y[:-1]))
    return None


def launched(checker, version):
    """The timeline and file of all models in one process."""
    trace = "%s/%s.ortl" % (checker.folder, version)
    program = h.ortscope(checker.folder, "run-" + version, "run", "-q", "-o", trace, "--",
                         *ops.arguments(version, ops.MODELS, runs=RUNS))
    checker.equal(version + ": the exit code passes through", program.code, 0)
    timeline = h.load(trace)
    checker.equal(version + ": nothing was lost", h.lost(timeline), 0)
    return timeline, trace


def truth(checker, version):
    theirs, types = told(checker, version)
    timeline, trace = launched(checker, version)
    sets, packed = members_of(timeline), 0
    for name, part in ops.by_model(timeline, ops.MODELS).items():
        what = "%s %s" % (version, name)
        ours = seen(timeline, part, sets)
        packed += check_model(checker, what, name, ours, theirs[name])
        if name in ("cls", "det", "rec"):
            check_flops(checker, what, trace, part.session, theirs[name], ours, types[name])
    checker.true(version + ": some weights were packed away", packed > 0)


def check_flops(checker, what, trace, session, theirs, ours, types):
    """With weights that were packed away as we tell them, which check_model has looked at."""
    rows = {row["node"]: row for row in h.ask("ops", trace, "--by", "node", "--session", str(session),
                                              "--limit", "1000")["ops"]}
    wrong, counted, total = [], 0, 0
    for node in (node for node in theirs if not node.startswith("Reorder")):  # named anew by each load
        given = max((next(iter(side[node])) for side in (theirs, ours)),
                    key=lambda one: len(one.inputs))
        expected, row = flops_of(types[node], given), rows.get(node)
        if not row or row["flops_per_call"] != expected:
            wrong.append((node, types[node], row["flops_per_call"], expected))
        elif expected is not None:
            counted, total = counted + 1, total + expected
            rate = expected * row["calls"] / (row["total_us"] * 1000)
            if abs(row["gflops_per_s"] - rate) > 0.001 + rate * 1e-6:
                wrong.append((node, row["gflops_per_s"], rate))
    checker.equal(what + ": FLOPs and GFLOP/s of each node", wrong[:2], [])
    checker.true(what + ": of some nodes they are known", counted > 10, counted)
    print("         %s: FLOPs of %d nodes, %.1f million a run" % (what, counted, total / 1e6), flush=True)


def of_version(version):
    def test(checker):
        truth(checker, version)
    test.__name__ = "truth_" + version.replace(".", "_")
    test.__doc__ = "types, shapes, bytes and FLOPs with ONNX Runtime " + version
    return test


TESTS = [of_version(version) for version in VERSIONS]

if __name__ == "__main__":
    h.run_tests("test_op_truth", TESTS)
