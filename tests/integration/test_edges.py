# SPDX-License-Identifier: MIT
"""Who feeds whom: the names of tensors that the hook told, and the producers that the live view finds by them, against
the graph that ORT itself wrote down after optimising it."""
import os
import sys

import harness as h
import op_profile

sys.path.insert(0, os.path.join(h.ROOT, "tests/live"))
import served  # noqa: E402

WRITER = h.BIN + "/odd_graph.exe"
# Fields of onnx.proto
MODEL_GRAPH, GRAPH_NODE, NODE_INPUT, NODE_OUTPUT, NODE_NAME, NODE_TYPE = 7, 1, 1, 2, 3, 4
NODE_ATTRIBUTE, ATTRIBUTE_GRAPH, ATTRIBUTE_GRAPHS = 5, 6, 11


# --------------------------------------------------------------------------------- the written graph


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(number, bytes) of those that have a length; others are passed over."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 2:
            size, at = varint(data, at)
            yield tag >> 3, data[at:at + size]
            at += size
        else:
            at = varint(data, at)[1] if tag & 7 == 0 else at + {1: 8, 5: 4}[tag & 7]


def nodes_of(graph):
    """(name, type, inputs, outputs) of a graph's nodes and of those inside them."""
    for number, node in fields(graph):
        if number != GRAPH_NODE:
            continue
        parts = list(fields(node))

        def texts(field):
            return [value.decode() for number, value in parts if number == field]
        yield (texts(NODE_NAME) + [""])[0], texts(NODE_TYPE)[0], texts(NODE_INPUT), texts(NODE_OUTPUT)
        for field, attribute in parts:
            for inner, value in fields(attribute) if field == NODE_ATTRIBUTE else ():
                if inner in (ATTRIBUTE_GRAPH, ATTRIBUTE_GRAPHS):
                    yield from nodes_of(value)


def read_graph(path):
    with open(os.path.join(h.ROOT, path), "rb") as file:
        model = file.read()
    return [node for number, graph in fields(model) if number == MODEL_GRAPH for node in nodes_of(graph)]


# ------------------------------------------------------------------------------------------ compared


def record(c, version, model):
    trace, optimized = c.folder + "/%s-%s.ortl" % (model, version), c.folder + "/%s-%s.onnx" % (model, version)
    words = op_profile.arguments(version, [model])
    words[words.index("--runs") + 1] = 3
    # Nodes that ORT adds get other names each time, so what runs is what was written.
    words[words.index("--model") + 1] = optimized
    written = h.run(c.folder, "graph", [WRITER, h.dll(version), op_profile.SPECS[model][0], optimized])
    c.equal("the graph is written", (written.code, os.path.exists(os.path.join(h.ROOT, optimized))), (0, True))
    done = h.ortscope(c.folder, "run-%s-%s" % (model, version), "run", "-q", "-o", trace, "--", *words)
    c.equal("%s %s runs" % (model, version), done.code, 0)
    graph = read_graph(optimized)
    names = [node[0] for node in graph]
    return trace, {node[0]: node for node in graph if node[0] and names.count(node[0]) == 1}


def compare_names(c, what, trace, graph):
    timeline = h.load(trace)
    told = {row["kernel"]: ([], []) for row in timeline.rows("kernel_tensor")}
    for row in sorted(timeline.rows("kernel_tensor"), key=lambda r: r["index"]):
        told[row["kernel"]][row["direction"]].append(row["name"])
    loading = {row["kernel"] for row in timeline.rows("op") if row["flags"] & op_profile.FLAG_LOADING}
    kernels = [k for k in timeline.rows("kernel") if k["kernel"] not in loading]  # not those of constant folding
    known = [k for k in kernels if k["node"] in graph]
    c.true("%s: nodes that ran are in the written graph" % what, len(known) > 20 and len(known) >= 0.9 * len(kernels),
           (len(known), len(kernels)))

    made = {name for node in graph.values() for name in node[3]}

    def compared(names):  # constants are called anew where ORT shares them among nodes
        return [name if name in made else "" for name in names if name]
    wrong = [(k["node"], told.get(k["kernel"])) for k in known if list(map(compared, told.get(k["kernel"], ()))) != list(
        map(compared, graph[k["node"]][2:]))]
    c.equal("%s: their tensors are called as there" % what, wrong[:3], [])
    c.equal("%s: every kernel is told" % what, [k["node"] for k in kernels if k["kernel"] not in told], [])


def compare_producers(c, what, trace, graph):
    """By the live view of the file: edges between nodes that ran."""
    makers = {name: node[0] for node in graph.values() for name in node[3]}
    with served.serve(h.reader_command()[-1], os.path.join(h.ROOT, trace), "--speed", "max") as client:
        served.wait_for_state(client, "ended")
        kernels = client.json("/api/v1/timeline")["kernels"]
    names = [k["node"] for k in kernels]
    edges = wrong = 0
    for k in kernels:
        if k["node"] not in graph:
            continue
        wanted = {makers[name] for name in graph[k["node"]][2] if makers.get(name) in names}
        got = {names[p] for p in k["producers"] or []}
        edges += len(wanted)
        if k["producers"] is None or got != wanted:
            wrong += 1
            c.true("%s: %s reads %s" % (what, k["node"], sorted(wanted)), False, k["producers"] and sorted(got))
    c.true("%s: %d edges are those of the graph" % (what, edges), edges > 20 and not wrong, (edges, wrong))


def edges_of_versions(c):
    """The classifier on the oldest, a middle and the newest runtime."""
    for version in ("1.15.0", "1.23.2", h.NEWEST):
        trace, graph = record(c, version, "cls")
        compare_names(c, "cls " + version, trace, graph)
        compare_producers(c, "cls " + version, trace, graph)


def edges_inside_branches(c):
    """An If around everything else: names of its subgraphs."""
    trace, graph = record(c, h.NEWEST, "silero_v5")
    compare_names(c, "silero", trace, graph)


if __name__ == "__main__":
    h.run_tests("test_edges", [edges_of_versions, edges_inside_branches])
