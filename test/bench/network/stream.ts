/**
 * Takes or sends bytes over TCP as fast as it goes. `take PORT` prints a line once it listens; `send ADDRESS PORT MS`
 * prints the MB that the other side has taken, a second and a second of this process's processor time. The kernel
 * counts what it does with a packet there, up to the other side's socket where both are on one machine.
 */
import { connect, createServer } from "node:net"

const [what, ...rest] = process.argv.slice(2)
if (what === "take") {
  createServer((socket) => {
    let bytes = 0
    socket.on("error", () => undefined)
    socket.on("data", (part) => (bytes += part.length))
    socket.on("end", () => socket.end(String(bytes)))
  }).listen({ host: "::", port: Number(rest[0]), allowHalfOpen: true }, () => console.log("listens"))
} else {
  const [host = "", port, ms] = rest
  const part = Buffer.alloc(1 << 18)
  const socket = connect({ host, port: Number(port), allowHalfOpen: true })
  const began = performance.now()
  const usedBefore = process.cpuUsage()
  const fill = () => {
    while (performance.now() - began < Number(ms)) if (!socket.write(part)) return
    socket.off("drain", fill)
    socket.end()
  }
  socket.on("connect", fill)
  socket.on("drain", fill)
  let taken = ""
  socket.on("data", (bytes) => (taken += bytes.toString()))
  socket.on("close", () => {
    const { user, system } = process.cpuUsage(usedBefore)
    console.log(Number(taken) / 1e3 / (performance.now() - began), Number(taken) / (user + system))
  })
}
