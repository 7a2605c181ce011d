/**
 * Asks the pod's name server: `dig.ts <name> <type> <udp|tcp>` prints the data of the answers, a line each, searching
 * as /etc/resolv.conf says; `dig.ts hosts <name>` prints the addresses that the system's resolver finds.
 */
import { decode, encode, streamDecode, streamEncode, RECURSION_DESIRED, type Packet } from "dns-packet"
import { createSocket } from "node:dgram"
import { lookup } from "node:dns/promises"
import { readFileSync } from "node:fs"
import { connect } from "node:net"

const [first = "", second = "A", transport = "udp"] = process.argv.slice(2)
const conf = readFileSync("/etc/resolv.conf", "utf8")
const words = (keyword: string) => new RegExp(`^${keyword} (.*)$`, "m").exec(conf)?.[1]?.trim().split(/\s+/) ?? []
const [server = ""] = words("nameserver")
const ndots = Number(/ndots:(\d+)/.exec(conf)?.[1] ?? 1)

function ask(name: string): Promise<Packet> {
  const question: Packet = {
    type: "query",
    id: 1,
    flags: RECURSION_DESIRED,
    questions: [{ type: second as "A", name: name.replace(/\.$/, "") }],
  }
  return new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error(`${server} does not answer`)), 5000)
    if (transport === "udp") {
      const socket = createSocket("udp4")
      socket.on("message", (message) => (socket.close(), resolve(decode(message))))
      socket.send(encode(question), 53, server)
      return
    }
    const socket = connect(53, server, () => socket.write(streamEncode(question)))
    let bytes = Buffer.alloc(0)
    socket.on("data", (part) => {
      bytes = Buffer.concat([bytes, Buffer.from(part)])
      if (bytes.length < 2 || bytes.length < bytes.readUInt16BE(0) + 2) return
      socket.end()
      resolve(streamDecode(bytes))
    })
    socket.on("error", reject)
  })
}

if (first === "hosts") console.log((await lookup(second, { all: true })).map(({ address }) => address).join("\n"))
else {
  const dots = first.split(".").length - 1
  const searched = first.endsWith(".") ? [] : words("search").map((domain) => `${first}.${domain}`)
  for (const name of dots >= ndots ? [first, ...searched] : [...searched, first]) {
    const { answers = [] } = await ask(name)
    if (answers.length === 0) continue
    for (const answer of answers) if ("data" in answer) console.log(JSON.stringify(answer.data))
    break
  }
}
