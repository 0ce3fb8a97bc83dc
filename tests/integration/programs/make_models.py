#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes the small ONNX models that ort_driver runs: make_models.py FOLDER.

The protobuf bytes are put together by hand (field numbers of onnx.proto), so that no ONNX package
is needed and the bytes never change.

  affine.onnx  X float[batch,4], S float[batch,3] -> Y = Relu(X W + B), Z = Y + S
  counts.onnx  A int64[batch,length] -> doubled = A + A, total = ReduceSum(A, axis 1)
  pick.onnx    I int64[n] -> picked = Gather(constant float[5], I); fails for an index out of range
  count.onnx   X int64[n] -> where int64[1,k] = NonZero(X)
  pieces.onnx  P float[n,4], scale float[] -> parts = SplitToSequence(P), scaled = P * scale
  absent.onnx  -> out optional(float), which has no value
  decoder.onnx ids int64[1,n], past float[1,2,cached,4] -> total = sum of ids, present = Relu(past)
  branches.onnx X float[rows,256] -> Y = two chains of eight matrix products each, multiplied
  unknown.onnx one node of an operator that does not exist
  kernelless.onnx  a valid model for which there is no kernel: Acosh of doubles
  loop.onnx    X float[2,4], M int64[] -> Y: M times v = v W, then Relu (the first two times) or Tanh of it,
               by an If; all: v after each
  scan.onnx    H float[4], X float[n,4] -> last, rows: for each row of X h = Tanh(h + x), row = h * x
  zeros.onnx   N int64[1] -> zeros float[N]; zeros_inside.onnx: by a node inside an If
  taker.onnx   X float[1] -> Y float[1] = test.Taker(X), an operator of the program's own
  garbage.onnx bytes that are no protobuf
"""
import os
import struct
import sys

FLOAT, INT64, BOOL, DOUBLE = 1, 7, 9, 11


def varint(value):
    out = bytearray()
    while True:
        byte = value & 0x7F
        value >>= 7
        out.append(byte | (0x80 if value else 0))
        if not value:
            return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def blob(field, value):
    data = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(data)) + data


def initializer(name, element_type, dims, values):
    """TensorProto: dims=1, data_type=2, name=8, raw_data=9."""
    code = {FLOAT: "f", INT64: "q"}[element_type]
    raw = struct.pack("<%d%s" % (len(values), code), *values)
    head = b"".join(number(1, dim) for dim in dims)
    return head + number(2, element_type) + blob(8, name) + blob(9, raw)


def tensor_type(element_type, dims):
    """TypeProto.tensor_type=1 {elem_type=1, shape=2 {dim=1 {dim_value=1 | dim_param=2}}}."""
    shape = b""
    for dim in dims:
        shape += blob(1, blob(2, dim) if isinstance(dim, str) else number(1, dim))
    return blob(1, number(1, element_type) + blob(2, shape))


def sequence_type(element):
    """TypeProto.sequence_type=4 {elem_type=1}."""
    return blob(4, blob(1, element))


def optional_type(element):
    """TypeProto.optional_type=9 {elem_type=1}."""
    return blob(9, blob(1, element))


def value(name, type_proto):
    """ValueInfoProto: name=1, type=2."""
    return blob(1, name) + blob(2, type_proto)


def node(op, inputs, outputs, attributes=()):
    """NodeProto: input=1, output=2, name=3, op_type=4, attribute=5 {name=1, i=3, g=6, tp=14, type=20}.

    An attribute's value is an integer, the bytes of a TypeProto, or a Graph.
    """
    out = b"".join(blob(1, i) for i in inputs) + b"".join(blob(2, o) for o in outputs)
    out += blob(3, op.lower() + "_" + outputs[0]) + blob(4, op)
    for name, content in attributes:
        if isinstance(content, Graph):
            value_of = blob(6, content) + number(20, 5)
        elif isinstance(content, bytes):
            value_of = blob(14, content) + number(20, 13)
        else:
            value_of = number(3, content) + number(20, 2)
        out += blob(5, blob(1, name) + value_of)
    return out


class Graph(bytes):
    """The bytes of a GraphProto: what a Loop, an If or a Scan has inside."""


def graph(name, nodes, inputs, outputs, initializers=()):
    """GraphProto: node=1, name=2, initializer=5, input=11, output=12."""
    out = b"".join(blob(1, n) for n in nodes) + blob(2, name)
    out += b"".join(blob(5, i) for i in initializers)
    return Graph(out + b"".join(blob(11, i) for i in inputs) + b"".join(blob(12, o) for o in outputs))


def model(graph_name, nodes, inputs, outputs, initializers=(), opset=13):
    """ModelProto: ir_version=1, producer_name=2, producer_version=3, graph=7, opset_import=8."""
    return (number(1, 8) + blob(2, "ortscope-tests") + blob(3, "1")
            + blob(7, graph(graph_name, nodes, inputs, outputs, initializers))
            + blob(8, blob(1, "") + number(2, opset)))


def affine():
    weights = [0.25 * (i % 7) - 0.5 for i in range(12)]
    return model(
        "affine_graph",
        [node("MatMul", ["X", "W"], ["XW"]), node("Add", ["XW", "B"], ["XWB"]),
         node("Relu", ["XWB"], ["Y"]), node("Add", ["Y", "S"], ["Z"])],
        [value("X", tensor_type(FLOAT, ["batch", 4])),
         value("S", tensor_type(FLOAT, ["batch", 3]))],
        [value("Y", tensor_type(FLOAT, ["batch", 3])),
         value("Z", tensor_type(FLOAT, ["batch", 3]))],
        [initializer("W", FLOAT, [4, 3], weights), initializer("B", FLOAT, [3], [0.5, -0.25, 1.0])])


def counts():
    return model(
        "counts_graph",
        [node("Add", ["A", "A"], ["doubled"]),
         node("ReduceSum", ["A", "axes"], ["total"], [("keepdims", 0)])],
        [value("A", tensor_type(INT64, ["batch", "length"]))],
        [value("doubled", tensor_type(INT64, ["batch", "length"])),
         value("total", tensor_type(INT64, ["batch"]))],
        [initializer("axes", INT64, [1], [1])])


def pick():
    return model(
        "pick_graph",
        [node("Gather", ["table", "I"], ["picked"], [("axis", 0)])],
        [value("I", tensor_type(INT64, ["n"]))],
        [value("picked", tensor_type(FLOAT, ["n"]))],
        [initializer("table", FLOAT, [5], [1.5, 2.5, 4.0, 8.25, 16.0])])


def count():
    return model(
        "count_graph", [node("NonZero", ["X"], ["where"])],
        [value("X", tensor_type(INT64, ["n"]))], [value("where", tensor_type(INT64, [1, "k"]))])


def pieces():
    part = tensor_type(FLOAT, [1, 4])
    return model(
        "pieces_graph",
        [node("SplitToSequence", ["P"], ["parts"], [("axis", 0), ("keepdims", 1)]),
         node("Mul", ["P", "scale"], ["scaled"])],
        [value("P", tensor_type(FLOAT, ["n", 4])), value("scale", tensor_type(FLOAT, []))],
        [value("parts", sequence_type(part)), value("scaled", tensor_type(FLOAT, ["n", 4]))])


def absent():
    scalar = tensor_type(FLOAT, [])
    return model("absent_graph", [node("Optional", [], ["out"], [("type", scalar)])], [],
                 [value("out", optional_type(scalar))], opset=15)


def zeros():
    return model(
        "zeros_graph", [node("ConstantOfShape", ["N"], ["zeros"])],
        [value("N", tensor_type(INT64, [1]))], [value("zeros", tensor_type(FLOAT, ["n"]))])


def zeros_inside():
    """The same in a branch of an If that always is taken."""
    def branch(output):
        return graph(output + "_graph", [node("ConstantOfShape", ["N"], [output])], [],
                     [value(output, tensor_type(FLOAT, ["n"]))])

    return model(
        "zeros_inside_graph",
        [node("Less", ["two", "N"], ["some"]),
         node("If", ["some"], ["zeros"], [("then_branch", branch("taken")), ("else_branch", branch("other"))])],
        [value("N", tensor_type(INT64, [1]))], [value("zeros", tensor_type(FLOAT, ["n"]))],
        [initializer("two", INT64, [1], [2])])


def taker():
    """NodeProto: domain=7; a second opset_import names it."""
    return model(
        "taker_graph",
        [node("Taker", ["X"], ["Y"]) + blob(7, "test")],
        [value("X", tensor_type(FLOAT, [1]))],
        [value("Y", tensor_type(FLOAT, [1]))]) + blob(8, blob(1, "test") + number(2, 1))


def decoder():
    return model(
        "decoder_graph",
        [node("ReduceSum", ["ids", "axes"], ["total"], [("keepdims", 0)]),
         node("Relu", ["past"], ["present"])],
        [value("ids", tensor_type(INT64, [1, "n"])),
         value("past", tensor_type(FLOAT, [1, 2, "cached", 4]))],
        [value("total", tensor_type(INT64, [1])),
         value("present", tensor_type(FLOAT, [1, 2, "cached", 4]))],
        [initializer("axes", INT64, [1], [1])])


def branches():
    """Nodes matmul_left0 ... and sigmoid_right, matmul_right0 ...: nothing in common but X and W."""
    weights = [((i * 37) % 101 - 50) / 4096 for i in range(256 * 256)]
    nodes = [node("Sigmoid", ["X"], ["right"])]
    for side, start in (("left", "X"), ("right", "right")):
        names = [start] + ["%s%d" % (side, i) for i in range(8)]
        nodes += [node("MatMul", [names[i], "W"], [names[i + 1]]) for i in range(8)]
    return model("branches_graph", nodes + [node("Mul", ["left7", "right7"], ["Y"])],
                 [value("X", tensor_type(FLOAT, ["rows", 256]))],
                 [value("Y", tensor_type(FLOAT, ["rows", 256]))],
                 [initializer("W", FLOAT, [256, 256], weights)])


def loop():
    """Loop(M, no condition, X); its body sees W and two from outside."""
    def branch(op, output):
        return graph(op.lower() + "_graph", [node(op, ["product"], [output])], [],
                     [value(output, tensor_type(FLOAT, [2, 4]))])

    body = graph(
        "body",
        [node("MatMul", ["v", "W"], ["product"]), node("Less", ["i", "two"], ["early"]),
         node("If", ["early"], ["next"], [("then_branch", branch("Relu", "lifted")),
                                          ("else_branch", branch("Tanh", "bent"))]),
         node("Identity", ["go"], ["go_on"]), node("Neg", ["next"], ["shown"])],
        [value("i", tensor_type(INT64, [])), value("go", tensor_type(BOOL, [])),
         value("v", tensor_type(FLOAT, [2, 4]))],
        [value("go_on", tensor_type(BOOL, [])), value("next", tensor_type(FLOAT, [2, 4])),
         value("shown", tensor_type(FLOAT, [2, 4]))])
    weights = [((i * 5) % 7 - 3) / 4 for i in range(16)]
    return model(
        "loop_graph",
        [node("Loop", ["M", "", "X"], ["Y", "all"], [("body", body)])],
        [value("X", tensor_type(FLOAT, [2, 4])), value("M", tensor_type(INT64, []))],
        [value("Y", tensor_type(FLOAT, [2, 4])), value("all", tensor_type(FLOAT, ["n", 2, 4]))],
        [initializer("W", FLOAT, [4, 4], weights), initializer("two", INT64, [], [2])])


def scan():
    row = tensor_type(FLOAT, [4])
    body = graph("step", [node("Add", ["h", "x"], ["sum"]), node("Tanh", ["sum"], ["next"]),
                          node("Mul", ["next", "x"], ["row"])],
                 [value("h", row), value("x", row)], [value("next", row), value("row", row)])
    rows = tensor_type(FLOAT, ["n", 4])
    return model("scan_graph",
                 [node("Scan", ["H", "X"], ["last", "rows"], [("body", body), ("num_scan_inputs", 1)])],
                 [value("H", row), value("X", rows)], [value("last", row), value("rows", rows)])


def unknown():
    return model(
        "unknown_graph",
        [node("NoSuchOperator", ["X"], ["Y"])],
        [value("X", tensor_type(FLOAT, [1]))],
        [value("Y", tensor_type(FLOAT, [1]))])


def kernelless():
    return model(
        "kernelless_graph",
        [node("Acosh", ["X"], ["Y"])],
        [value("X", tensor_type(DOUBLE, [1]))],
        [value("Y", tensor_type(DOUBLE, [1]))])


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    files = {"affine": affine(), "counts": counts(), "pick": pick(), "count": count(),
             "pieces": pieces(), "absent": absent(), "zeros": zeros(), "zeros_inside": zeros_inside(), "taker": taker(),
             "unknown": unknown(), "decoder": decoder(), "kernelless": kernelless(), "branches": branches(),
             "loop": loop(), "scan": scan(),
             "garbage": bytes((i * 37 + 11) & 0xFF for i in range(300))}
    for name, data in files.items():
        path = os.path.join(folder, name + ".onnx")
        with open("%s.%d" % (path, os.getpid()), "wb") as out:
            out.write(data)
        os.replace(out.name, path)  # whoever reads it meanwhile has all of one


if __name__ == "__main__":
    main()
