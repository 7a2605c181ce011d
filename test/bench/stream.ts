/**
 * Takes or sends bytes over TCP as fast as it goes. `take PORT` prints a line once it listens; `send ADDRESS PORT MS`
 * prints the MB a second that the other side has taken.
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
  const fill = () => {
    while (performance.now() - began < Number(ms)) if (!socket.write(part)) return
    socket.off("drain", fill)
    socket.end()
  }
  socket.on("connect", fill)
  socket.on("drain", fill)
  let taken = ""
  socket.on("data", (bytes) => (taken += bytes.toString()))
  socket.on("close", () => console.log(Number(taken) / 1e3 / (performance.now() - began)))
}
