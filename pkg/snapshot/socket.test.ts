import { expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { beginListening } from "../runtime/http/begin-listening.ts"
import { askForSnapshot } from "./socket.ts"

test("a server that exits when a snapshot is requested causes an error that can be caught", async () => {
  // given
  const folder = mkdtempSync(join(tmpdir(), "k3ts-snapshot-"))
  const path = join(folder, "socket")
  const server = createServer((socket) => socket.destroy())
  await beginListening(server, { path })
  // then
  await expect(askForSnapshot(path, { compression: "none" }).next()).rejects.toThrow(
    "the connection ended before its first line",
  )
  server.close()
  rmSync(folder, { recursive: true })
})
