import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { connectPortForward } from "../../../pkg/streaming/port-forward-client.ts"
import { connectRemoteCommand } from "../../../pkg/streaming/remote-command-client.ts"
import type { CommandStreams } from "../../../pkg/streaming/remote-command.ts"
import { SUCCESS } from "../../../pkg/streaming/status.ts"
import {
  heardFrom,
  NO_STREAMS,
  repeating,
  streamServer,
  TALKING_PORTS,
} from "../kubelet-client/stream-server.fixtures.ts"

const KUBELET = "/api/v1/nodes/n1/proxy"

let server: Awaited<ReturnType<typeof streamServer>>
beforeAll(async () => {
  server = await streamServer()
})
afterAll(() => server[Symbol.asyncDispose]())

const uidOfPod = async () =>
  (JSON.parse((await server.send("GET", "/api/v1/namespaces/default/pods/web")).text) as { metadata: { uid: string } })
    .metadata.uid

describe("the streams of a kubelet", () => {
  test("run and attach to commands, with the parameters of the kubelet's API", async () => {
    // given a node whose commands repeat their input, and whose containers greet who attaches
    const asked: unknown[] = []
    const unregister = server.nodes.register("n1", {
      ...NO_STREAMS,
      exec: repeating(asked),
      async attach(pod, options, accept) {
        asked.push(pod.name, options)
        const session = (await accept())!
        session.stdout!.end("welcome")
        await session.exit(SUCCESS)
      },
    })
    const run = async (path: string, streams: CommandStreams) => {
      const command = await connectRemoteCommand({ ...server.dial(), url: server.url(`${KUBELET}/${path}`), streams })
      let text = ""
      command.stdout!.on("data", (part: Buffer) => (text += part.toString()))
      command.stdin?.end("hello")
      return { status: await command.status, text }
    }

    // when
    const streams = { stdin: true, stdout: true, stderr: false, tty: false }
    const terminal = { stdin: false, stdout: true, stderr: false, tty: true }
    const exec = await run("exec/default/web/c?command=cat&command=-u&input=1&output=1", streams)
    const attach = await run(`attach/default/web/${await uidOfPod()}/c?output=1&error=1&tty=1`, terminal)

    // then
    expect(exec).toMatchObject({ status: { reason: "NonZeroExitCode" }, text: "hello" })
    expect(attach).toMatchObject({ status: { status: "Success" }, text: "welcome" })
    expect(asked).toEqual([
      "web",
      { container: "c", command: ["cat", "-u"], streams },
      "web",
      { container: "c", streams: terminal },
    ])
    unregister()
  })

  test("carry connections to a pod's ports", async () => {
    const unregister = server.nodes.register("n1", { ...NO_STREAMS, portForward: TALKING_PORTS })
    const forward = await connectPortForward({
      ...server.dial(),
      url: server.url(`${KUBELET}/portForward/default/web`),
    })
    expect(await heardFrom(forward, 8080, "hello")).toBe("port 8080 says hello")
    forward.close()
    unregister()
  })

  test.each<[string, string, string, number, string]>([
    ["a pod that is not on the node", "POST", "exec/default/none/c?command=ls&output=1", 404, "pod does not exist"],
    [
      "a container that is not in the pod",
      "GET",
      "exec/default/web/none?command=ls&output=1",
      500,
      'container not found ("none")',
    ],
    ["a pod of another uid", "GET", "attach/default/web/another/c?output=1", 500, 'container not found ("c")'],
    ["ports of a pod of another uid", "POST", "portForward/default/web/another", 404, "pod not found"],
    [
      "a request without streams",
      "GET",
      "exec/default/web/c?command=ls&stdout=true",
      400,
      "you must specify at least 1 of stdin, stdout, stderr",
    ],
    ["a request without an upgrade", "POST", "exec/default/web/c?command=ls&output=1", 500, "Upgrade request required"],
  ])("are refused in plain text: %s", async (_title, method, path, code, text) => {
    const unregister = server.nodes.register("n1", NO_STREAMS)
    expect(await server.send(method, `${KUBELET}/${path}`)).toMatchObject({
      code,
      text,
      headers: { "content-type": "text/plain; charset=utf-8" },
    })
    unregister()
  })

  test("return the error of a command that cannot be started", async () => {
    const unregister = server.nodes.register("n1", {
      ...NO_STREAMS,
      exec: () => Promise.reject(new Error("no such program")),
    })
    const refused = await connectRemoteCommand({
      ...server.dial(),
      url: server.url(`${KUBELET}/exec/default/web/c?command=ls&output=1`),
      streams: { stdin: false, stdout: true, stderr: false, tty: false },
    }).catch((err: unknown) => err)
    expect(refused).toMatchObject({
      name: "UpgradeRefused",
      status: 500,
      body: expect.stringContaining("no such program"),
    })
    unregister()
  })
})
