import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { duplexPair, PassThrough } from "node:stream"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { isPodReady } from "../../../pkg/pods/pod-state.ts"
import type { PortForwardSession } from "../../../pkg/streaming/port-forward.ts"
import type { RemoteCommandSession } from "../../../pkg/streaming/remote-command.ts"
import { exitCodeOf, type CommandStatus } from "../../../pkg/streaming/status.ts"
import {
  IMAGE,
  kubeletOnContainerd,
  MISSING,
  sh,
  WEB_SERVER,
  type KubeletOnContainerd,
} from "./kubelet-on-containerd.ts"

describe.skipIf(MISSING.length > 0)("the kubelet on containerd", () => {
  let node: KubeletOnContainerd
  beforeAll(async () => {
    node = await kubeletOnContainerd()
  }, 60_000)
  afterAll(async () => expect(await node.stop()).toEqual({ mounts: [], failures: [] }), 60_000)

  const text = async (chunks: AsyncIterable<Uint8Array>) => {
    let all = ""
    for await (const chunk of chunks) all += Buffer.from(chunk).toString("utf8")
    return all
  }

  test("gives the logs of containers and of their previous runs, and follows a log to its end", async () => {
    // given a container that logs lines, ends on demand, and logs the same lines in its next run
    await node.create("talker", {
      terminationGracePeriodSeconds: 1,
      volumes: [{ name: "d", emptyDir: {} }],
      containers: [
        {
          name: "c",
          image: IMAGE,
          volumeMounts: [{ name: "d", mountPath: "/d" }],
          command: sh(
            "echo one; echo two >&2; until [ -e /d/end ]; do sleep 0.05; done; rm /d/end; echo three; exit 1",
          ),
        },
      ],
    })
    const first = await node.pod("talker", isPodReady)
    const target = { namespace: "default", name: "talker", uid: first.metadata.uid! }
    const { connector } = node
    const options = { container: "c", follow: false, previous: false, timestamps: false }
    const { signal } = new AbortController()
    // then its log can be read, as a whole or in part. The runtime writes lines with a delay, so the test follows the
    // log until they are there
    const following = await connector.logs(target, { ...options, follow: true }, signal)
    const bothSaid = Promise.withResolvers<void>()
    const followed = (async () => {
      let all = ""
      for await (const chunk of following) {
        all += Buffer.from(chunk).toString("utf8")
        if (all.split("\n").length >= 3) bothSaid.resolve()
      }
      return all
    })()
    await bothSaid.promise
    expect((await text(await connector.logs(target, options, signal))).split("\n").sort()).toEqual(["", "one", "two"])
    expect(await text(await connector.logs(target, { ...options, stream: "Stderr" }, signal))).toBe("two\n")
    expect(await text(await connector.logs(target, { ...options, tailLines: 1, timestamps: true }, signal))).toMatch(
      /^\d{4}-\d\d-\d\dT\S+ (one|two)\n$/,
    )
    await expect(connector.logs(target, { ...options, previous: true }, signal)).rejects.toThrow(
      'previous terminated container "c" in pod "talker" not found',
    )
    // when the container ends
    await node.containerd.cri.runtime.execSync(
      first.status.containerStatuses![0]!.containerID!.replace("containerd://", ""),
      sh("touch /d/end"),
      5,
    )
    // then the follower has seen all lines, and the log of the previous run is kept
    expect((await followed).split("\n").sort()).toEqual(["", "one", "three", "two"])
    await node.pod(
      "talker",
      ({ status }) =>
        status.containerStatuses?.[0]?.restartCount === 1 && status.containerStatuses[0].state.running !== undefined,
    )
    expect(await text(await connector.logs(target, { ...options, previous: true, tailLines: 1 }, signal))).toBe(
      "three\n",
    )
    await node.cluster.client.delete(Pod, { name: "talker", namespace: "default" })
    await node.gone("talker")
  }, 30_000)

  test("runs commands in containers and forwards ports", async () => {
    await node.create("server", {
      containers: [
        {
          name: "c",
          image: IMAGE,
          command: WEB_SERVER,
          readinessProbe: { tcpSocket: { port: 8080 } },
        },
      ],
    })
    const ready = await node.pod("server", isPodReady)
    const target = { namespace: "default", name: "server", uid: ready.metadata.uid! }
    const { connector } = node
    // when a command runs
    const output = new PassThrough()
    const ended = Promise.withResolvers<CommandStatus>()
    const session: RemoteCommandSession = {
      protocol: "test",
      stdin: undefined,
      stdout: output,
      stderr: undefined,
      resize: undefined,
      closed: ended.promise.then(() => {}),
      exit: async (status) => {
        output.end()
        ended.resolve(status)
      },
    }
    await connector.exec(
      target,
      {
        container: "c",
        command: sh("echo $PATH; exit 4"),
        streams: { stdin: false, stdout: true, stderr: false, tty: false },
      },
      async () => session,
    )
    // then its output and exit code come back
    expect(await text(output)).toBe("/bin\n")
    expect(exitCodeOf(await ended.promise)).toBe(4)
    await expect(
      connector.exec(
        { ...target, uid: "x", name: "x" },
        { container: "c", command: [], streams: { stdin: false, stdout: true, stderr: false, tty: false } },
        async () => session,
      ),
    ).rejects.toThrow('pods "x" not found')
    // when a port is forwarded
    const [near, far] = duplexPair()
    const errors = new PassThrough()
    const done = Promise.withResolvers<void>()
    const forwarding: PortForwardSession = {
      protocol: "test",
      closed: done.promise,
      close: () => done.resolve(),
      async *[Symbol.asyncIterator]() {
        yield { port: 8080, data: far, error: errors, gone: new Promise<void>(() => {}) }
        await done.promise
      },
    }
    const carried = connector.portForward(target, async () => forwarding)
    near.write("GET / HTTP/1.0\r\n\r\n")
    expect(await text(near)).toEndWith("hello\n")
    done.resolve()
    await carried
    await node.cluster.client.delete(Pod, { name: "server", namespace: "default" })
    await node.gone("server")
  }, 30_000)
})
