import { randomInt } from "node:crypto"
import { createSocket } from "node:dgram"
import { createServer } from "node:net"

/**
 * Ports that the kernel gives to no connection by itself. One that it gives, a test that runs at the same time may get
 * between the question for a free port and its use.
 */
const FIRST = 12_000
const COUNT = 17_000
let next = randomInt(COUNT)

/** Returns a port of this machine that nothing uses, by TCP or UDP, and that it did not return to this process before. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < COUNT; tries++) {
    const port = FIRST + (next++ % COUNT)
    if ((await isFreeForTcp(port)) && (await isFreeForUdp(port))) return port
  }
  throw new Error(`none of the ports ${FIRST} to ${FIRST + COUNT - 1} is free`)
}

const isFreeForTcp = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once("error", () => resolve(false))
    server.listen({ port, host: "0.0.0.0", exclusive: true }, () => server.close(() => resolve(true)))
  })

const isFreeForUdp = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createSocket("udp4")
    socket.once("error", () => {
      socket.close()
      resolve(false)
    })
    socket.bind({ port, address: "0.0.0.0", exclusive: true }, () => socket.close(() => resolve(true)))
  })
