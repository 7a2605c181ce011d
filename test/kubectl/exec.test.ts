import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"
import { steps as stepsIn, type Step } from "./steps.fixtures.ts"

let c: Cluster
const pod = (name: string, containers: readonly string[], annotations: object = {}): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, annotations },
    spec: {
      containers: containers.map((container) => ({ name: container, image: "busybox", command: ["sleep", "9999"] })),
    },
  })
beforeAll(async () => {
  c = await startCluster({ nodes: 1 })
  await c.kubectl("create -f -", {
    stdin: [
      pod("one", ["main"]),
      pod("two", ["a", "b"]),
      pod("chosen", ["a", "b"], { "kubectl.kubernetes.io/default-container": "b" }),
    ].join("\n---\n"),
  })
  await c.advance("10s")
})
afterAll(() => c.stop())
const steps = (title: string, rows: readonly Step[]) => stepsIn(title, () => c, rows)

describe("kubectl exec", () => {
  steps("prints what a command prints, and ends with its exit code", [
    ["exec one -- echo hi", "hi\n"],
    ["exec pod/one -q -- echo hi", "hi\n"],
    ["exec one -- sh -c 'exit 3'", "command terminated with exit code 3\n", 3],
    ["exec two -- echo hi", 'hi\nDefaulted container "a" out of: a, b\n'],
    ["exec two -c b -- echo hi", "hi\n"],
    ["exec chosen -- echo hi", "hi\n"],
    ["exec -it one -- echo hi", "hi\nUnable to use a TTY - input is not a terminal or the right kind of file\n"],
  ])
  steps("refuses what it cannot run", [
    ["exec two -c c -- echo", "error: container c is not valid for pod two out of: a, b\n", 1],
    [
      "exec one echo hi",
      "error: exec [POD] [COMMAND] is not supported anymore. Use exec [POD] -- [COMMAND] instead\nSee 'kubectl exec -h' for help and examples\n",
      1,
    ],
    ["exec one", "error: you must specify at least one command for the container\n", 1],
    ["exec none -- echo", 'Error from server (NotFound): pods "none" not found\n', 1],
    ["exec configmap/kube-root-ca.crt -- echo", /^error: cannot attach to \*v1\.ConfigMap/, 1],
  ])
})

describe("kubectl attach", () => {
  steps("refuses what it cannot attach to", [
    ["attach", "error: at least 1 argument is required for attach\n", 1],
    ["attach a b c", "error: expected POD, TYPE/NAME, or TYPE NAME, (at most 2 arguments) saw 3: [a b c]\n", 1],
    [
      "attach one -c none",
      "error: cannot attach to the container: container none is not valid for pod one out of: main\n",
      1,
    ],
  ])
})

describe("kubectl run", () => {
  test("ends as by the signal when Ctrl-C is pressed while it is attached without a terminal", async () => {
    // given a pod that is followed
    const end = new AbortController()
    const running = c.kubectl("run followed --image=busybox --rm -i -- sleep 9999", {
      stdin: "",
      signal: end.signal,
    })
    await c.advance("10s")

    // when the user presses Ctrl-C
    end.abort()

    // then the code is that of SIGINT, as of a program without a handler, and the pod stays
    expect(await running).toMatchObject({ code: 130 })
    expect(await c.kubectl("get pod followed -o jsonpath={.status.phase}")).toMatchObject({ stdout: "Running" })
  })
})
