/** The first application of the README, with the commands that a new user types. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describeOnNode, serviceRules, startCluster, type Cluster } from "../../harness/cluster.ts"
import { run, type Kubectl } from "../../harness/kubectl.ts"
import { EXECUTABLE } from "../../harness/server.ts"

const MANIFEST = join(import.meta.dirname, "../../../manifests/examples/web.yaml")

describeOnNode("the walk-through", () => {
  let cluster: Cluster
  /** That of the executable, as on a machine that has no other. */
  let kubectl: Kubectl
  const files = mkdtempSync(join(tmpdir(), "k3ts-walk-"))
  beforeAll(async () => {
    cluster = await startCluster()
    const link = join(files, "kubectl")
    symlinkSync(EXECUTABLE, link)
    kubectl = cluster.kubectlOf(link)
  })
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]()
    rmSync(files, { recursive: true, force: true })
  })
  const ok = (args: string | readonly string[], options?: Parameters<Kubectl["ok"]>[1]) => kubectl.ok(args, options)
  const curl = async (url: string) => (await run("curl", ["-sS", "-m", "5", url])).out
  const firstPod = () => ok("get pods -l app=web -o jsonpath={.items[0].metadata.name}")

  test("shows a node that is ready", async () => {
    expect(await ok("get nodes -o wide")).toMatch(
      /^NAME +STATUS .*\n\S+ +Ready .* v1\.36\.0\+k3ts +[\d.]+ .* containerd:\/\/\d/,
    )
  })

  test("applies the example, and serves its page at the Service's address once it is rolled out", async () => {
    expect(await ok(["apply", "-f", MANIFEST])).toBe(
      "configmap/web created\ndeployment.apps/web created\nservice/web created\n",
    )
    expect(await ok("rollout status deploy/web --timeout=30s")).toEndWith('deployment "web" successfully rolled out\n')
    const address = await ok("get svc web -o jsonpath={.spec.clusterIP}")
    expect(await curl(`http://${address}`)).toBe("<h1>Hello from k3ts</h1>\n")
    expect(await ok("get deploy web")).toMatch(/\nweb +2\/2 +2 +2 /)
  })

  test("shows logs", async () => {
    expect(await ok("logs deploy/web --tail=-1")).toStartWith("web 1: serving /www on port 80\n")
    expect(await ok("logs -l app=web --tail=1 --timestamps --prefix")).toMatch(/^\[pod\/web-.*\/web\] \d{4}-\d\d-\d\dT/)
  })

  test("runs commands with input, at a terminal, and returns their exit codes", async () => {
    const names = (await ok("get pods -l app=web -o jsonpath={.items[*].metadata.name}")).split(" ")
    expect(names.map((name) => `sh ${name}\n`)).toContain(
      await kubectl.sh("deploy/web", "echo $0 $(cat /etc/hostname)"),
    )
    expect(await ok("exec -i deploy/web -- wc -c", { input: "12345" })).toBe("5\n")
    expect(await kubectl.run(["exec", "deploy/web", "--", "sh", "-c", "echo sorry >&2; exit 7"])).toEqual({
      code: 7,
      out: "",
      err: "sorry\ncommand terminated with exit code 7\n",
    })
    const terminal = await kubectl.run(
      ["exec", "-it", "deploy/web", "--", "sh", "-c", "tty; sleep 0.3; stty size; exit 3"],
      { terminal: true, input: "" },
    )
    expect(terminal.out).toContain("/dev/pts/0\r\n")
    expect(terminal.out).toContain("24 80\r\n")
    expect(terminal.code).toBe(3)
    expect((await kubectl.run(["exec", "deploy/web", "--", "nonsense"])).err).toContain("executable file not found")
  })

  test("forwards ports of pods, Deployments and Services", async () => {
    for (const target of [`pod/${await firstPod()}`, "deploy/web", "svc/web"]) {
      await using forward = await kubectl.portForward(target, 80)
      expect(await Promise.all([1, 2, 3].map(() => curl(`http://127.0.0.1:${forward.port}`)))).toEqual(
        Array.from({ length: 3 }, () => "<h1>Hello from k3ts</h1>\n"),
      )
    }
  })

  test("copies files there and back", async () => {
    const pod = await firstPod()
    writeFileSync(join(files, "there"), Buffer.alloc(300_000, "k3ts "))
    await ok(["cp", join(files, "there"), `${pod}:/tmp/there`])
    await ok(["cp", `${pod}:/tmp/there`, join(files, "back")])
    expect(readFileSync(join(files, "back")).equals(readFileSync(join(files, "there")))).toBe(true)
  })

  test("scales a Deployment", async () => {
    await ok("scale deploy/web --replicas=4")
    await ok("rollout status deploy/web --timeout=30s")
    expect((await ok("get pods -l app=web -o name")).trim().split("\n")).toHaveLength(4)
    await ok("scale deploy/web --replicas=2")
    await ok("wait --for=jsonpath={.status.replicas}=2 deploy/web --timeout=30s")
  })

  test("updates the image pod by pod, and rolls back", async () => {
    await ok("set image deploy/web web=k3ts.local/web:2")
    await ok("rollout status deploy/web --timeout=30s")
    expect(
      await ok(
        "get pods -l app=web --field-selector=status.phase=Running -o jsonpath={.items[*].spec.containers[0].image}",
      ),
    ).toContain("k3ts.local/web:2")
    expect(await ok("rollout history deploy/web")).toMatch(/1 +<none>\n2 +<none>/)
    await ok("rollout undo deploy/web")
    await ok("rollout status deploy/web --timeout=30s")
    expect(await ok("get deploy web -o jsonpath={.spec.template.spec.containers[0].image}")).toBe("k3ts.local/web:1")
    // the pods of the version in between are still terminating
    while ((await ok("get pods -l app=web -o name")).trim().split("\n").length > 2) await Bun.sleep(50)
  })

  test("shows events, resources and endpoints in describe", async () => {
    expect(await ok("describe deploy web")).toMatch(
      /Normal +ScalingReplicaSet .* deployment-controller +Scaled up replica set web-\w+ from 0 to 2/,
    )
    const pod = await ok(["describe", "pod", await firstPod()])
    for (const reason of ["Scheduled", "Pulled", "Created", "Started"])
      expect(pod).toMatch(new RegExp(`Normal +${reason} `))
    expect(await ok("describe node")).toContain("Allocated resources:")
    expect(await ok("describe svc web")).toMatch(/Endpoints: +10\.42\.\d+\.\d+:80,10\.42/)
  })

  test("deletes the objects of the manifest, and everything that they own", async () => {
    expect(await ok(["delete", "-f", MANIFEST])).toContain('deployment.apps "web" deleted')
    await kubectl.gone("pod", "app=web")
    expect(await ok("get all -l app=web -o name")).toBe("")
    while ((await serviceRules()).includes("default/web")) await Bun.sleep(20)
  })
})
