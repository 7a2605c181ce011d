/** Commands that follow objects, in virtual time. What they print is what upstream's kubectl 1.36 prints. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"

const WEB = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:1"}]}
`
const STUCK = `
apiVersion: v1
kind: Pod
metadata: {name: stuck}
spec: {nodeSelector: {no: where}, containers: [{name: c, image: "c:1"}]}
`

describe("kubectl rollout", () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await startCluster({ nodes: 1 })
    await cluster.apply(WEB)
  })
  afterAll(() => cluster.stop())

  test("status follows a rollout to its end", async () => {
    // given a Deployment whose pods must be ready for a minute
    const wide = WEB.replace("{name: web}", "{name: wide}").replace("replicas: 2", "replicas: 2\n  minReadySeconds: 60")
    await cluster.kubectl("create -f wide.yaml", { files: { "wide.yaml": wide.replaceAll("app: web", "app: wide") } })

    // when its rollout is followed
    const { code, stdout } = await cluster.kubectl("rollout status deployment/wide")

    // then each state is told, and the end
    expect(code).toBe(0)
    expect(stdout.split("\n").slice(-3)).toEqual([
      'Waiting for deployment "wide" rollout to finish: 0 of 2 updated replicas are available...',
      'deployment "wide" successfully rolled out',
      "",
    ])
  })

  test("undo goes back to the template before, and history lists both", async () => {
    // given a Deployment with two revisions
    await cluster.kubectl([
      "patch",
      "deployment",
      "web",
      "-p",
      '{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"web:2"}]}}}}',
    ])
    await cluster.kubectl("rollout status deployment/web")
    expect((await cluster.kubectl("rollout history deployment/web")).stdout).toBe(
      "deployment.apps/web \nREVISION  CHANGE-CAUSE\n1         <none>\n2         <none>\n\n",
    )

    // when the last rollout is undone
    const undone = await cluster.kubectl("rollout undo deployment/web")

    // then the first template is the third revision
    expect(undone).toMatchObject({ code: 0, stdout: "deployment.apps/web rolled back\n" })
    await cluster.kubectl("rollout status deployment/web")
    expect((await cluster.kubectl("rollout history deployment/web")).stdout).toBe(
      "deployment.apps/web \nREVISION  CHANGE-CAUSE\n2         <none>\n3         <none>\n\n",
    )
    const { stdout } = await cluster.kubectl("rollout history deployment/web --revision=3")
    expect(stdout.replace(/hash=\w+/, "hash=HASH").split("\n")).toEqual([
      "deployment.apps/web with revision #3",
      "Pod Template:",
      "  Labels:\tapp=web",
      "\tpod-template-hash=HASH",
      "  Containers:",
      "   web:",
      "    Image:\tweb:1",
      "    Port:\t<none>",
      "    Host Port:\t<none>",
      "    Environment:\t<none>",
      "    Mounts:\t<none>",
      "  Volumes:\t<none>",
      "  Node-Selectors:\t<none>",
      "  Tolerations:\t<none>",
      "",
      "",
    ])
  })

  test("pause, restart and resume tell what they cannot do", async () => {
    // given a paused Deployment
    expect(await cluster.kubectl("rollout pause deployment/web")).toMatchObject({
      stdout: "deployment.apps/web paused\n",
    })

    // when it is paused again, restarted or resumed, then each says so
    expect(await cluster.kubectl("rollout pause deployment/web")).toMatchObject({
      code: 1,
      stderr: 'error: deployments.apps "web" is already paused\n',
    })
    expect(await cluster.kubectl("rollout restart deployment/web")).toMatchObject({
      code: 1,
      stderr: 'error: deployments.apps "web" can\'t restart paused deployment (run rollout resume first)\n',
    })
    expect(await cluster.kubectl("rollout resume deployment/web")).toMatchObject({
      stdout: "deployment.apps/web resumed\n",
    })
    expect(await cluster.kubectl("rollout restart deployment/web")).toMatchObject({
      stdout: "deployment.apps/web restarted\n",
    })
    // The clock stands still, so the time of the restart would be the same.
    expect((await cluster.kubectl("rollout restart deployment/web")).stderr).toContain("failed to create patch for web")
  })

  test("says that other kinds have no rollouts", async () => {
    // given a Service, when its rollout is asked for, then upstream's words answer
    expect((await cluster.kubectl("rollout status service/kubernetes")).stderr).toBe(
      "error: no status viewer has been implemented for Service\n",
    )
    expect((await cluster.kubectl("rollout history service/kubernetes")).stderr).toBe(
      'error: error retrieving history for "Service", no visitor method exists for { Service}\n',
    )
  })
})

describe("kubectl wait", () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await startCluster({ nodes: 1 })
    await cluster.apply(WEB)
    await cluster.apply(STUCK)
  })
  afterAll(() => cluster.stop())

  test("waits until all objects have a condition", async () => {
    // given a Deployment that has no pods yet, when its condition is waited for, then it comes
    expect(await cluster.kubectl("wait deployment/web --for=condition=available --timeout=1m")).toMatchObject({
      code: 0,
      stdout: "deployment.apps/web condition met\n",
    })
  })

  test("gives up after its time", async () => {
    // given a pod that no node takes, when it is waited for, then the time ends it
    const before = cluster.now.getTime()
    expect(await cluster.kubectl("wait pod/stuck --for=condition=Ready --timeout=90s")).toMatchObject({
      code: 1,
      stderr: "error: timed out waiting for the condition on pods/stuck\n",
    })
    expect(cluster.now.getTime() - before).toBeGreaterThanOrEqual(90_000)
  })

  test("waits until an object is gone, or is there", async () => {
    // given a pod that is deleted while it is waited for
    const gone = cluster.kubectl("wait pod/stuck --for=delete --timeout=1m")
    await cluster.advance("5s")
    await cluster.kubectl("delete pod stuck --wait=false")

    // when it is gone, then the wait ends
    expect(await gone).toMatchObject({ code: 0, stdout: "pod/stuck condition met\n" })
    expect(await cluster.kubectl("wait pod/stuck --for=delete")).toMatchObject({ code: 0, stdout: "" })

    // and another one of the name is waited for
    const there = cluster.kubectl("wait pod/stuck --for=create --timeout=1m")
    await cluster.advance("5s")
    await cluster.apply(STUCK)
    expect(await there).toMatchObject({ code: 0, stdout: "pod/stuck condition met\n" })
  })

  test.each([
    { wait: "--for=condition=Ready=maybe", code: 1 },
    { wait: "--for=create deployment/none", code: 130 },
  ])("ends at Ctrl-C without a message when it waits $wait", async ({ wait, code }) => {
    // given something that does not come, for which is waited
    const end = new AbortController()
    const waiting = cluster.kubectl(`wait deployment/web ${wait}`, { signal: end.signal })
    await cluster.advance("2s")

    // when the user presses Ctrl-C, then the command ends
    end.abort()
    expect(await waiting).toMatchObject({ code, stdout: "", stderr: "" })
  })

  test.each([
    { wait: "--for=jsonpath={.spec.replicas}=2", code: 0, stdout: "deployment.apps/web condition met\n", stderr: "" },
    { wait: "--for=jsonpath=.status.observedGeneration", code: 0, stdout: "deployment.apps/web condition met\n" },
    {
      wait: "--for=jsonpath={.spec}=2",
      code: 1,
      stderr: "error: jsonpath leads to a nested object or list which is not supported\n",
    },
    { wait: "--for=ready", code: 1, stderr: 'error: unrecognized condition: "ready"\n' },
    {
      wait: "--for=condition=Ready -l app=none",
      code: 1,
      stderr: "error: selectors and the all flag cannot be used when passing resource/name arguments\n",
    },
  ])("answers $wait", async ({ wait, ...answer }) => {
    // given a Deployment, when it is waited for in this way, then the answer is upstream's
    expect(await cluster.kubectl(`wait deployment/web ${wait}`)).toMatchObject(answer)
  })
})

describe("kubectl describe and events", () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await startCluster({ nodes: 1 })
    await cluster.apply(WEB)
    await cluster.kubectl("rollout status deployment/web")
  })
  afterAll(() => cluster.stop())

  test("describe finds objects by the beginning of their names, without events", async () => {
    // given two pods of a Deployment, when its name is described as if it were a pod
    const { code, stdout } = await cluster.kubectl("describe pods web")

    // then both pods are described
    expect(code).toBe(0)
    expect(stdout.match(/^Name: +web-/gm)).toHaveLength(2)
    expect(stdout).not.toContain("Events:")
    expect((await cluster.kubectl("describe pods web --show-events")).stdout).toContain("Events:")
  })

  test.each([
    { args: "describe pods none", code: 1, stderr: 'Error from server (NotFound): pods "none" not found\n' },
    { args: "describe pods -l app=none", code: 0, stderr: "No resources found in default namespace.\n" },
    { args: "events --for pod/none", code: 0, stderr: "No events found in default namespace.\n" },
    { args: "events --for none", code: 1, stderr: "error: --for must be in resource/name form\n" },
    { args: "events --types=Bad", code: 1, stderr: "error: valid --types are Normal or Warning\n" },
    { args: "top node --sort-by=name", code: 1, stderr: "error: --sort-by accepts only cpu or memory\n" },
  ])("$args answers in upstream's words", async ({ args, code, stderr }) => {
    // given a cluster without such objects, when they are asked for, then the answer is upstream's
    expect(await cluster.kubectl(args)).toMatchObject({ code, stderr })
  })

  test("events lists those about one object", async () => {
    // given a Deployment that was scaled up, when its events are listed
    const { stdout } = await cluster.kubectl("events --for deployment/web")

    // then its event is in a table
    const [header, event] = stdout.split("\n")
    expect(header).toMatch(/^LAST SEEN {3}TYPE {5}REASON {14}OBJECT {11}MESSAGE$/)
    expect(event).toMatch(
      /Normal {3}ScalingReplicaSet {3}Deployment\/web {3}Scaled up replica set web-\w+ from 0 to 2$/,
    )
  })

  test("events as JSON have the fields of Go's struct in its order", async () => {
    // given an event, when it is printed as JSON
    const { stdout } = await cluster.kubectl("events --for deployment/web -o json")

    // then also the fields that are not set are there
    const list = JSON.parse(stdout) as { readonly items: readonly object[] }
    expect(Object.keys(list)).toEqual(["kind", "apiVersion", "metadata", "items"])
    expect(Object.keys(list.items[0]!)).toEqual([
      "kind",
      "apiVersion",
      "metadata",
      "involvedObject",
      "reason",
      "message",
      "source",
      "firstTimestamp",
      "lastTimestamp",
      "count",
      "type",
      "eventTime",
      "reportingComponent",
      "reportingInstance",
    ])
  })

  test("top shows what nodes use of what they have", async () => {
    // given a node whose programs use nothing, when its usage is shown
    await cluster.advance("2m")
    const { stdout, stderr } = await cluster.kubectl("top node")

    // then it is in upstream's table
    expect(stderr).toBe("")
    expect(stdout.split("\n")).toEqual([
      "NAME     CPU(cores)   CPU(%)   MEMORY(bytes)   MEMORY(%)   ",
      "node-0   0m           0%       0Mi             0%          ",
      "",
    ])
  })
})

describe("--request-timeout", () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await startCluster({ nodes: 1 })
    await cluster.kubectl("create configmap one")
  })
  afterAll(() => cluster.stop())

  test.each(["get cm one -w -o name", "get cm -w -o name"])("ends %s, which goes on otherwise", async (command) => {
    const { code, stdout, stderr } = await cluster.kubectl(`${command} --request-timeout=2s`)
    expect([code, stdout.includes("configmap/one\n"), stderr]).toEqual([0, true, ""])
  })

  test("is logged when it ends a watch, from level 5 on, and counts for nothing when it is negative", async () => {
    const { stderr } = await cluster.kubectl("get cm one -w --request-timeout=2s -v=5")
    expect(stderr).toContain("Unable to decode an event from the watch stream: net/http: request canceled")
    expect((await cluster.kubectl("get cm one -o name --request-timeout=-1s")).stdout).toBe("configmap/one\n")
  })

  test("ends a log that is followed, with an error", async () => {
    await cluster.kubectl("run logged --image=busybox --command -- sleep 999")
    await cluster.kubectl("wait --for=condition=Ready pod/logged")
    const { code, stderr } = await cluster.kubectl("logs logged -f --request-timeout=2s")
    expect(stderr).toEndWith(
      "error: net/http: request canceled (Client.Timeout or context cancellation while reading body)\n",
    )
    expect(code).toBe(1)
  })
})

/** The reasons of forty events, many of one second, in the order in which kubectl 1.36.2 lists them. */
const LISTED =
  "R3 R39 R6 R33 R12 R0 R18 R27 R24 R21 R30 R15 R36 R9 R10 R7 R34 R31 R28 R37 R22 R25 R16 R19 R1 R13 R4 R2 R38 R32 R35 R29 R26 R23 R20 R5 R14 R11 R8 R17"

test("kubectl events lists many events of one second in the order of Go's sort", async () => {
  const cluster = await startCluster({ nodes: 0 })
  try {
    const items = Array.from({ length: 40 }, (_, number) => ({
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: `e${String((number * 7) % 40).padStart(2, "0")}`, namespace: "default" },
      involvedObject: { apiVersion: "v1", kind: "ConfigMap", name: "ev", namespace: "default" },
      reason: `R${number}`,
      message: "m",
      type: "Normal",
      lastTimestamp: `2026-01-01T00:00:0${number % 3}Z`,
    }))
    await cluster.kubectl("create -f -", { stdin: JSON.stringify({ apiVersion: "v1", kind: "List", items }) })
    const { stdout } = await cluster.kubectl("events --for=cm/ev --no-headers")
    expect(stdout.match(/R\d+/g)?.join(" ")).toBe(LISTED)
  } finally {
    await cluster.stop()
  }
})
