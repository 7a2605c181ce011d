/**
 * The README's walk-through on a real node, with the oldest and the newest kubectl that are installed, which differ
 * most in their streams.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { BUSYBOX, describeOnNode, sh, startCluster, type Cluster } from "../harness/cluster.ts"
import { run, type Kubectl } from "../harness/kubectl.ts"
import { findKubectls } from "../kubectls.ts"

const MANIFEST = join(import.meta.dirname, "../../manifests/examples/web.yaml")

const kubectls = findKubectls()
const ends = [...new Set([kubectls[0], kubectls.at(-1)])].filter((one) => one !== undefined)

describeOnNode("the walk-through", () => {
  const files = mkdtempSync(join(tmpdir(), "k3ts-walks-"))
  let cluster: Cluster
  beforeAll(async () => void (cluster = await startCluster()))
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]()
    rmSync(files, { recursive: true, force: true })
  })

  test.each(ends)(
    "with kubectl %s",
    async (version, path) => {
      const kubectl: Kubectl = cluster.kubectlOf(path)
      const namespace = `with-${version.replaceAll(/[^a-z0-9]/gi, "-").toLowerCase()}`
      await kubectl.ok(["create", "namespace", namespace])
      await kubectl.ok(["config", "view"])
      const ok: Kubectl["ok"] = (args, options) =>
        kubectl.ok(["-n", namespace, ...(typeof args === "string" ? args.split(" ") : args)], options)
      expect(await ok("get nodes -o wide")).toContain(" Ready ")
      expect(await ok(["apply", "-f", MANIFEST])).toContain("deployment.apps/web created\n")
      expect(await ok("rollout status deploy/web --timeout=30s")).toContain("successfully rolled out")
      const address = await ok("get svc web -o jsonpath={.spec.clusterIP}")
      expect((await run("curl", ["-s", "-m", "5", `http://${address}`])).out).toBe("<h1>Hello from k3ts</h1>\n")
      expect(await ok("logs deploy/web --tail=-1")).toStartWith("web 1: serving")
      expect(await ok("exec -i deploy/web -- cat", { input: "typed" })).toBe("typed")
      const failed = await kubectl.run([
        "-n",
        namespace,
        "exec",
        "deploy/web",
        "--",
        "sh",
        "-c",
        "echo out; echo err >&2; exit 4",
      ])
      expect({ ...failed, err: failed.err.includes("err\ncommand terminated with exit code 4") }).toEqual({
        code: 4,
        out: "out\n",
        err: true,
      })
      const terminal = await kubectl.run(
        ["-n", namespace, "exec", "-it", "deploy/web", "--", "sh", "-c", "tty; sleep 0.3; stty size"],
        { terminal: true, input: "" },
      )
      expect(terminal.out).toMatch(/\/dev\/pts\/0\r\n[^]*24 80\r\n/)
      for (const target of ["deploy/web", "svc/web"]) {
        await using forward = await kubectl.portForward(target, 80, ["-n", namespace])
        const answers = await Promise.all(
          [1, 2, 3].map(() => run("curl", ["-s", "-m", "5", `http://127.0.0.1:${forward.port}`])),
        )
        expect(answers.map(({ out }) => out)).toEqual(Array.from({ length: 3 }, () => "<h1>Hello from k3ts</h1>\n"))
      }
      const pod = (await ok("get pods -l app=web -o jsonpath={.items[0].metadata.name}")).trim()
      writeFileSync(join(files, "there"), Buffer.alloc(200_000, version))
      await ok(["cp", join(files, "there"), `${namespace}/${pod}:/tmp/there`])
      await ok(["cp", `${namespace}/${pod}:/tmp/there`, join(files, "back")])
      expect(readFileSync(join(files, "back")).equals(readFileSync(join(files, "there")))).toBe(true)
      await ok("scale deploy/web --replicas=3")
      await ok("set image deploy/web web=k3ts.local/web:2")
      expect(await ok("rollout status deploy/web --timeout=30s")).toContain("successfully rolled out")
      await ok("rollout undo deploy/web")
      expect(await ok("rollout status deploy/web --timeout=30s")).toContain("successfully rolled out")
      expect(await ok("describe pods -l app=web")).toMatch(/Started/)
      expect(await ok(["delete", "-f", MANIFEST])).toContain('deployment.apps "web" deleted')
      await kubectl.gone("pod", "app=web", ["-n", namespace])
      await ok(["delete", "namespace", namespace])
    },
    90_000,
  )

  describe("kubectl attach", () => {
    test("prints the output of a container and sends it the input", async () => {
      await cluster.runPod("asking", {
        restartPolicy: "Never",
        containers: [
          { name: "c", image: BUSYBOX, stdin: true, stdinOnce: true, command: sh("read name; echo hello $name") },
        ],
      })
      const { out } = await cluster.kubectl.run(["attach", "-i", "asking"], { input: "you\n" })
      await cluster.kubectl.ok("wait --for=jsonpath={.status.phase}=Succeeded pod/asking --timeout=20s")
      expect(out + (await cluster.log("asking"))).toContain("hello you\n")
    })

    test("serves kubectl run -it --rm", async () => {
      const { out } = await cluster.kubectl.run(
        [
          "run",
          "once",
          "-i",
          "--rm",
          "--image=k3ts.local/busybox:1",
          "--restart=Never",
          "--",
          "sh",
          "-c",
          "read x; echo got $x",
        ],
        { input: "it\n" },
      )
      expect(out).toContain("got it\n")
      expect(out).toContain('pod "once" deleted')
    })

    test("returns the response of a container whose input stays open to a client that has sent all its input", async () => {
      // given a container that answers for ever
      await cluster.runPod("echoes", {
        containers: [
          { name: "c", image: BUSYBOX, stdin: true, command: sh("while read line; do echo heard $line; done") },
        ],
      })

      // then a client that gives a line and goes gets its answer, and the next one finds it still listening
      for (const line of ["one", "two"])
        expect((await cluster.kubectl.run(["attach", "-i", "echoes"], { input: `${line}\n` })).out).toContain(
          `heard ${line}\n`,
        )
      const { out } = await cluster.kubectl.run(
        ["debug", "-i", "echoes", "--image=k3ts.local/busybox:1", "--", "sh", "-c", "read x; echo got $x"],
        { input: "it\n" },
      )
      expect(out).toContain("got it\n")
    }, 30_000)

    test("shows the log of a container that ended too soon", async () => {
      for (let i = 0; i < 5; i++)
        expect(
          (
            await cluster.kubectl.run([
              "run",
              `quick-${i}`,
              "-i",
              "--rm",
              "--image=k3ts.local/busybox:1",
              "--restart=Never",
              "--",
              "echo",
              `over ${i}`,
            ])
          ).out,
        ).toContain(`over ${i}\n`)
    }, 30_000)
  })
})
