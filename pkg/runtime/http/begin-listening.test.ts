import { expect, test } from "bun:test"
import { createServer, type AddressInfo } from "node:net"
import { beginListening } from "./begin-listening.ts"

test("a server that listens survives any number of socket errors", async () => {
  const server = createServer()
  await beginListening(server, { port: 0, host: "127.0.0.1" })
  // when errors come, of which one without a listener would be thrown here
  for (const code of ["EMFILE", "ENFILE"]) server.emit("error", new Error(`accept ${code}`))
  // then the server still listens
  expect(server.listening).toBe(true)
  server.close()
})

test("a server that cannot listen fails with the reason", async () => {
  const first = createServer()
  await beginListening(first, { port: 0, host: "127.0.0.1" })
  const { port } = first.address() as AddressInfo
  await expect(beginListening(createServer(), { port, host: "127.0.0.1" })).rejects.toMatchObject({
    code: "EADDRINUSE",
  })
  first.close()
})
