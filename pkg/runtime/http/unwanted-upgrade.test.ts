import { expect, test } from "bun:test"
import { get } from "node:http"
import { createServer, type AddressInfo } from "node:net"
import { onUnwantedUpgrade } from "./unwanted-upgrade.ts"

test("a request fails if the server switches protocols unasked", async () => {
  // given a server that answers 101 and closes
  const server = createServer(
    (socket) =>
      void socket.once("data", () => socket.end("HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")),
  )
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))

  // when it is asked
  const failed = await new Promise<Error>((resolve) => {
    onUnwantedUpgrade(get({ host: "127.0.0.1", port: (server.address() as AddressInfo).port }), resolve)
  })

  // then
  expect(failed.message).toBe("the server switched protocols without a request to do so")
  server.close()
})
