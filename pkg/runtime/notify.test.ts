import { expect, test } from "bun:test"
import { spawn, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { unixDatagrams } from "./notify.ts"

const python = spawnSync("python3", ["--version"]).status === 0
if (!python) console.warn("SKIPPED: the test of unix datagrams needs python3 for the receiving side")

test.skipIf(!python)("a datagram reaches the socket completely", async () => {
  // given a receiver
  const folder = mkdtempSync(join(tmpdir(), "k3ts-notify-"))
  const path = join(folder, "socket")
  const receiver = spawn(
    "python3",
    [
      "-c",
      "import socket,sys\ns=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM)\ns.bind(sys.argv[1])\n" +
        `print("bound",flush=True)\nprint(s.recv(100).decode(),flush=True)`,
      path,
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  )
  try {
    const lines = createInterface(receiver.stdout)[Symbol.asyncIterator]()
    expect((await lines.next()).value).toBe("bound")

    // when something is sent
    const sender = unixDatagrams(path)
    sender.send("READY=1")
    sender.close()

    // then it arrives
    expect((await lines.next()).value).toBe("READY=1")
  } finally {
    receiver.kill()
    rmSync(folder, { recursive: true })
  }
})

test("a socket on which no process listens is an error", () => {
  const sender = unixDatagrams("/nonexistent/socket")
  expect(() => sender.send("READY=1")).toThrow("Cannot send to /nonexistent/socket: no program receives there")
  sender.close()
})
