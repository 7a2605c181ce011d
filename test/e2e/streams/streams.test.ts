/**
 * The streams of a pod as a table: protocols, sizes, orders of closing, and readers that stop or go. `K3TS_STREAMS=all`
 * takes larger sizes, and hundreds of execs.
 */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { spawn } from "node:child_process"
import { createHash, randomBytes } from "node:crypto"
import { once } from "node:events"
import { readdirSync, readlinkSync } from "node:fs"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { BUSYBOX, describeOnNode, sh, startCluster, stay, type Cluster } from "../../harness/cluster.ts"
import { bytesOf, finished, forwardPorts, PROTOCOLS, startCommand, type Protocol } from "./stream-clients.ts"

const IS_WHOLE = process.env["K3TS_STREAMS"] === "all"
const MIB = 1024 * 1024
const SIZES = IS_WHOLE ? [0, 1, 16 * 1024, 64 * 1024, 65_537, MIB, 16 * MIB, 64 * MIB] : [0, 65_537, 2 * MIB]
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex")

/** Commands that read all their input, whatever they close before: each leaves it in /tmp/NAME. */
const READERS = [
  ["that keeps its outputs", "tee $f >/dev/null"],
  ["that closes its output at once", "exec cat >$f"],
  ["that closes its errors at once", "exec 2>&-; cat >$f"],
  ["that closes both at once", "exec >&- 2>&-; cat >$f"],
  ["that closes its output later", "exec >&-; usleep 100000; cat >$f"],
] as const

describeOnNode("the streams of a pod", () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await startCluster()
    await cluster.runPod(
      "streams",
      {
        containers: [
          { name: "main", image: BUSYBOX, command: stay() },
          { name: "echo", image: BUSYBOX, command: ["nc", "-ll", "-p", "7000", "-e", "cat"] },
          {
            name: "rude",
            image: BUSYBOX,
            command: ["nc", "-ll", "-p", "9000", "-e", "sh", "-c", "usleep 300000; echo bye"],
          },
        ],
        terminationGracePeriodSeconds: 1,
      },
      { annotations: { "kubectl.kubernetes.io/default-container": "main" } },
    )
  })
  afterAll(() => cluster?.[Symbol.asyncDispose]())

  /** Files, pipes and connections that the server has open for streams. */
  const open = (): readonly string[] =>
    readdirSync(`/proc/${cluster.server.pid}/fd`).flatMap((fd) => {
      try {
        const target = readlinkSync(`/proc/${cluster.server.pid}/fd/${fd}`)
        return /\.log$|-std(in|out|err)$/.test(target) ? [target] : []
      } catch {
        return []
      }
    })
  const sockets = (): number => readdirSync(`/proc/${cluster.server.pid}/fd`).length

  const exec = (protocol: Protocol, script: string) => startCommand(cluster.server, protocol, "streams", sh(script))
  const run = async (protocol: Protocol, script: string, input: Uint8Array = new Uint8Array()) =>
    finished(await exec(protocol, script), input)

  const rows = PROTOCOLS.flatMap((protocol) => SIZES.map((size) => ({ protocol, size })))

  test.each(rows.filter(({ protocol }) => protocol !== "WebSocket v4"))(
    "every byte of $size over $protocol reaches a command, whichever of its streams it closes first",
    async ({ protocol, size }) => {
      const input = randomBytes(size)
      for (const [title, script] of READERS) {
        const { code } = await run(protocol, `f=/tmp/f; ${script}`, input)
        const { out } = await run("SPDY", "sha256sum </tmp/f; rm /tmp/f")
        expect([title, code, out.toString().slice(0, 64)]).toEqual([title, 0, sha256(input)])
      }
    },
  )

  test.each(rows)("$size bytes over $protocol come back", async ({ protocol, size }) => {
    const input = randomBytes(size)
    const { out, err, code } = await run(protocol, `head -c ${size}; echo done >&2; exit 3`, input)
    expect([sha256(out), err, code]).toEqual([sha256(input), "done\n", 3])
  })

  test.each(PROTOCOLS)("a command that leaves its input unread keeps its exit code, over %s", async (protocol) => {
    const input = randomBytes(MIB)
    for (const [script, code, out] of [
      ["exit 0", 0, ""],
      ["usleep 200000; exit 4", 4, ""],
      ["exec >&- 2>&-; usleep 200000; exit 5", 5, ""],
      ["head -c 3 >/dev/null; echo read; exit 6", 6, "read\n"],
    ] as const) {
      const ended = await run(protocol, script, input)
      expect([script, ended.code, ended.out.toString()]).toEqual([script, code, out])
    }
  })

  test.each(PROTOCOLS)("a connection that is cut is no success, and leaves nothing, over %s", async (protocol) => {
    // given a client that has stopped to read, one that has stopped to write, and one that does both
    const before = sockets()
    const commands = await Promise.all(["yes", "cat >/dev/null", "cat"].map((script) => exec(protocol, script)))
    for (const { stdin, stdout } of commands) {
      stdin.on("error", () => {})
      stdin.write(randomBytes(MIB))
      stdout.pause()
    }
    await once(commands[0]!.stdout, "readable")

    // when
    for (const command of commands) command.cut()

    // then
    for (const { status, stdout, stderr } of commands) {
      stdout.resume()
      stderr.resume()
      expect((await status).status).toBe("Failure")
    }
    await until(() => open().length === 0 && sockets() <= before)
  })

  test("attaching gives a container all its input and the client all its output", async () => {
    const input = randomBytes(2 * MIB)
    for (const protocol of ["SPDY", "WebSocket v5"] as const) {
      const name = `attached-${protocol.slice(-2).toLowerCase()}`
      await cluster.runPod(name, {
        restartPolicy: "Never",
        containers: [
          {
            name: "c",
            image: BUSYBOX,
            command: sh("read -r line; exec 2>&-; sha256sum"),
            stdin: true,
            stdinOnce: true,
          },
        ],
      })
      const begun = Buffer.concat([Buffer.from("go\n"), input])
      const { out } = await finished(await startCommand(cluster.server, protocol, name, undefined), begun)
      expect(out.toString()).toBe(`${sha256(input)}  -\n`)
      await cluster.client.delete(Pod, { name, namespace: "default" })
    }
  })

  test.each(["exec >&- 2>&-", "exec >&-", "exec 2>&-"])(
    "attaching gives all its input to a container that had done `%s` before",
    async (closes) => {
      const input = randomBytes(2 * MIB)
      const name = `closed-${sha256(Buffer.from(closes)).slice(0, 8)}`
      await cluster.runPod(name, {
        restartPolicy: "Never",
        containers: [
          {
            name: "c",
            image: BUSYBOX,
            command: sh(`${closes}; >/tmp/closed; sha256sum >/dev/termination-log`),
            stdin: true,
            stdinOnce: true,
          },
        ],
      })
      await finished(
        await startCommand(cluster.server, "SPDY", name, sh("while [ ! -e /tmp/closed ]; do usleep 1000; done")),
        new Uint8Array(),
      )
      const { code } = await finished(await startCommand(cluster.server, "SPDY", name, undefined), input)
      expect(code).toBe(0)
      await cluster.kubectl.ok(["wait", "pod", name, "--for=jsonpath={.status.phase}=Succeeded", "--timeout=20s"])
      const { status } = await cluster.client.get(Pod, { name, namespace: "default" })
      expect(status.containerStatuses![0]!.state.terminated!.message).toBe(`${sha256(input)}  -\n`)
      await cluster.client.delete(Pod, { name, namespace: "default" })
    },
  )

  test("attaching to a container that ends meanwhile comes to an end", async () => {
    const names = Array.from({ length: 3 }, (_, i) => `ending-${i}`)
    await Promise.all(
      names.map((name) =>
        cluster.runPod(name, {
          restartPolicy: "Never",
          containers: [{ name: "c", image: BUSYBOX, command: sh("read -r line"), stdin: true }],
        }),
      ),
    )
    for (const name of names) {
      const first = await startCommand(cluster.server, "SPDY", name, undefined)
      first.stdin.write("go\n")
      const others = Array.from({ length: 8 }, async () => {
        const other = await startCommand(cluster.server, "SPDY", name, undefined).catch(() => undefined)
        other?.stdout.resume()
        other?.stderr.resume()
        await other?.status
      })
      first.stdout.resume()
      first.stderr.resume()
      await Promise.all([first.status, ...others])
    }
  })

  test("a forwarded port carries all bytes, and a connection that the pod resets ends alone", async () => {
    const forwarding = await forwardPorts(cluster.server, "streams")
    const echo = async (size: number) => {
      const input = randomBytes(size)
      const { data } = forwarding.open(7000)
      data.end(input)
      expect(sha256(await bytesOf(data))).toBe(sha256(input))
    }
    const broken = async () => {
      const { data, error } = forwarding.open(9000)
      data.on("error", () => {})
      data.write(randomBytes(200_000))
      await bytesOf(data)
      expect(await error).toBe("")
    }
    // containerd takes a second to end each connection, and cuts then what is still on the way
    await Promise.all([...SIZES.filter((size) => size <= 2 * MIB).map(echo), broken(), broken()])
    await echo(65_537)
    forwarding.close()
    await forwarding.closed
  })

  test("a log whose client is killed leaves no open file, whether it reads, has stopped to read, or waits for more", async () => {
    // given
    const kubectl = (script: string) =>
      spawn("sh", ["-c", script], { env: cluster.kubectl.env, detached: true, stdio: "ignore" })
    await cluster.runPod("talker", {
      containers: [{ name: "c", image: BUSYBOX, command: stay("yes 0123456789 | head -n 400000; echo end") }],
      terminationGracePeriodSeconds: 1,
    })
    const clients = Array.from({ length: 3 }, () => [
      kubectl("kubectl logs -f talker >/dev/null"),
      kubectl("kubectl logs -f talker | sleep 60"),
      kubectl("kubectl logs talker | sleep 60"),
    ]).flat()
    await until(() => open().length === clients.length)

    // when
    for (const { pid } of clients) process.kill(-pid!, "SIGKILL")

    // then
    await until(() => open().length === 0)
    const isWritten = async () => (await cluster.kubectl.ok(["logs", "talker", "--tail=1"])) === "end\n"
    while (!(await isWritten())) await Bun.sleep(20) // the container may write longer than the clients live
  })

  test.skipIf(!IS_WHOLE)(
    "a pod has a bounded number of commands, those of clients that have left included",
    async () => {
      // given a pod in which commands stay
      await cluster.runPod("crowd", { containers: [{ name: "main", image: BUSYBOX, command: stay() }] })
      const start = () => startCommand(cluster.server, "WebSocket v5", "crowd", ["sleep", "1000"])
      // when hundreds are started, whose clients leave
      let refused = 0
      for (let i = 0; i < 6; i++)
        for (const result of await Promise.allSettled(Array.from({ length: 50 }, start)))
          if (result.status === "fulfilled") result.value.cut()
          else if (String(result.reason).includes("429")) refused++
      // then those beyond 256 are refused
      expect(refused).toBeGreaterThanOrEqual(30)
      await expect(start()).rejects.toThrow("429")
      // and other pods have theirs
      expect((await run("SPDY", "true")).code).toBe(0)
    },
  )

  test.skipIf(!IS_WHOLE)("a thousand execs leave nothing", async () => {
    await run("SPDY", "true")
    const [descriptors, memory] = [sockets(), cluster.server.residentMb()]
    for (let i = 0; i < 100; i++)
      await Promise.all(
        Array.from({ length: 10 }, async (_, n) => {
          const { code, out } = await run(PROTOCOLS[n % 2]!, "cat", Buffer.from(`${i} ${n}`))
          expect([code, out.toString()]).toEqual([0, `${i} ${n}`])
        }),
      )
    await until(() => sockets() <= descriptors + 5)
    console.log(`a thousand execs: ${memory} MB before, ${cluster.server.residentMb()} MB after`)
    expect(open()).toEqual([])
  })
})

/** Resolves when the condition holds; the test's own limit ends it. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await Bun.sleep(20) // the kernel tells nobody of another process's descriptors
}
