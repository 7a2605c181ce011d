/**
 * A node, its pods, a pod of another node and a machine outside the cluster, each a network namespace: for tests that
 * send real packets.
 */
import { execFile, spawn, type ChildProcessWithoutNullStreams } from "node:child_process"
import { createInterface } from "node:readline"
import { promisify } from "node:util"
import { hostIn, type Host } from "../../pkg/netfilter/host.ts"

const run = promisify(execFile)

/** Names and addresses; `web-3` is on another node. */
export const LAB_PODS = {
  "pod-a": "10.42.0.2",
  "web-1": "10.42.0.5",
  "web-2": "10.42.0.6",
  "web-3": "10.42.1.7",
} as const
export const OUTSIDE_IP = "192.0.2.9"
/** The node's address outside, and the one that pods see it by. */
export const NODE_IP = "192.0.2.1"
export const NODE_POD_IP = "10.42.0.1"
export type LabMember = keyof typeof LAB_PODS | "outside" | "node"

/** Answer and close; or send back what comes, for as long as the client stays. */
export const ANSWER_PORT = 8080
export const ECHO_PORT = 9090
/** What has not answered by then counts as dropped. */
const PATIENCE_MS = 700

/**
 * What runs in every namespace. It says who answers, and from which address it was asked; and it asks others: a line
 * of JSON on its input is a question, and a line on its output the answer.
 */
const AGENT = `
const net = require("node:net"), dgram = require("node:dgram")
const [name, serves] = process.argv.slice(1)
const answer = (address) => name + " as " + address.replace("::ffff:", "")
if (serves === "serves") {
  net.createServer((socket) => socket.on("error", () => {}).end(answer(socket.remoteAddress))).listen(${ANSWER_PORT}, "0.0.0.0")
  net.createServer((socket) => socket.on("error", () => {}).pipe(socket)).listen(${ECHO_PORT}, "0.0.0.0")
  const udp = dgram.createSocket("udp4")
  udp.on("message", (_, from) => udp.send(answer(from.address), from.port, from.address))
  udp.bind(${ANSWER_PORT})
}
const say = (id, text) => process.stdout.write(JSON.stringify({ id, text }) + "\\n")
const open = new Map()
/** New connections every 2 ms, since what was dropped is sent again only a second later, until one is answered. */
function reach({ id, address, port }) {
  const sockets = new Set()
  const timer = setInterval(() => {
    const socket = net.connect({ host: address, port })
    sockets.add(socket)
    socket.on("error", () => {}).on("close", () => sockets.delete(socket))
    socket.once("data", (bytes) => {
      clearInterval(timer)
      say(id, bytes.toString().trim())
      for (const each of sockets) each.destroy()
    })
  }, 2)
}
function ask({ id, address, port, udp, connection, text }) {
  const late = setTimeout(() => say(id, "dropped"), ${PATIENCE_MS})
  const done = (said) => (clearTimeout(late), say(id, said))
  if (udp) {
    const socket = dgram.createSocket("udp4")
    socket.on("message", (bytes) => (done(bytes.toString()), socket.close()))
    return socket.send("hello", port, address)
  }
  let socket = open.get(connection)
  if (socket === undefined) {
    socket = net.connect({ host: address, port })
    if (connection !== undefined) open.set(connection, socket)
    socket.on("error", (err) => done(err.code === "ECONNREFUSED" ? "refused" : err.code))
  }
  socket.once("data", (bytes) => done(bytes.toString().trim()))
  if (text !== undefined) socket.write(text)
}
let rest = ""
process.stdin.on("data", (bytes) => {
  const lines = (rest + bytes).split("\\n")
  rest = lines.pop()
  for (const line of lines) {
    const question = JSON.parse(line)
    question.reach ? reach(question) : ask(question)
  }
}).on("end", () => process.exit())
say(0, "ready")
`

export class PacketLab {
  readonly #prefix: string
  readonly #agents = new Map<LabMember, ChildProcessWithoutNullStreams>()
  readonly #answers = new Map<number, (text: string) => void>()
  #lastId = 0

  private constructor(prefix: string) {
    this.#prefix = prefix
  }

  /** @param name tells labs of one process apart */
  static async start(name: string): Promise<PacketLab> {
    const lab = new PacketLab(`k3ts-lab-${process.pid}-${name}`)
    const node = lab.#netns("node")
    const members = Object.keys(LAB_PODS) as (keyof typeof LAB_PODS)[]
    const inNode: string[] = []
    for (const [i, member] of members.entries()) {
      const [ns, ip] = [lab.#netns(member), LAB_PODS[member]]
      inNode.push(
        `ip link add v${i} type veth peer name eth0 netns ${ns}`,
        `ip addr add ${NODE_POD_IP}/32 dev v${i}`,
        `ip link set v${i} up`,
        `ip route add ${ip} dev v${i}`,
        `ip -n ${ns} addr add ${ip}/32 dev eth0`,
        `ip -n ${ns} link set eth0 up`,
        `ip -n ${ns} link set lo up`,
        `ip -n ${ns} route add ${NODE_POD_IP} dev eth0`,
        `ip -n ${ns} route add default via ${NODE_POD_IP}`,
      )
    }
    const outside = lab.#netns("outside")
    const script = [
      "set -e",
      ...[...members, "node" as const, "outside" as const].map((member) => `ip netns add ${lab.#netns(member)}`),
      `ip netns exec ${node} sh -ec '
        ip link set lo up
        echo 1 > /proc/sys/net/ipv4/ip_forward
        echo 1 > /proc/sys/net/ipv4/conf/all/route_localnet
        ${inNode.join("\n")}
        ip link add out type veth peer name eth0 netns ${outside}
        ip addr add ${NODE_IP}/24 dev out
        ip link set out up
        ip route add default via ${OUTSIDE_IP}
        ip -n ${outside} addr add ${OUTSIDE_IP}/24 dev eth0
        ip -n ${outside} link set eth0 up
        ip -n ${outside} route add default via ${NODE_IP}'`,
    ]
    await run("sh", ["-c", script.join("\n")])
    await Promise.all([...members, "node" as const, "outside" as const].map((member) => lab.#startAgent(member)))
    return lab
  }

  /** Where a proxy of the node writes its rules. */
  get host(): Host {
    return hostIn(this.#netns("node"))
  }

  /** One connection. Gives what the server said, such as `web-1 as 10.42.0.2`, or `refused`, or `dropped`. */
  ask(from: LabMember, address: string, port: number, protocol: "tcp" | "udp" = "tcp"): Promise<string> {
    return this.#request(from, { address, port, udp: protocol === "udp" })
  }

  /** Tries until somebody answers. */
  reach(from: LabMember, address: string, port: number): Promise<string> {
    return this.#request(from, { address, port, reach: true })
  }

  /** All answers that come, of as many connections as it takes to hear `count` different ones, but at most 80. */
  async askAll(from: LabMember, address: string, port: number, count: number): Promise<readonly string[]> {
    const answers = new Set<string>()
    for (let round = 0; round < 10 && (round < 2 || answers.size < count); round++)
      for (const answer of await Promise.all(Array.from({ length: 8 }, () => this.ask(from, address, port))))
        answers.add(answer)
    return [...answers].sort()
  }

  /** A connection that stays open; `say` gives what comes back. */
  connect(from: LabMember, address: string, port: number): { readonly say: (text: string) => Promise<string> } {
    const connection = ++this.#lastId
    return { say: (text) => this.#request(from, { address, port, connection, text }) }
  }

  async stop(): Promise<void> {
    for (const agent of this.#agents.values()) agent.kill()
    await Promise.all([...this.#agents.keys()].map((member) => run("ip", ["netns", "del", this.#netns(member)])))
  }

  #netns(member: LabMember): string {
    return `${this.#prefix}-${member}`
  }

  #request(from: LabMember, question: object): Promise<string> {
    const id = ++this.#lastId
    const { promise, resolve } = Promise.withResolvers<string>()
    this.#answers.set(id, resolve)
    this.#agents.get(from)!.stdin.write(`${JSON.stringify({ id, ...question })}\n`)
    return promise
  }

  async #startAgent(member: LabMember): Promise<void> {
    const serves = member.startsWith("web-") ? "serves" : "asks"
    const agent = spawn("ip", ["netns", "exec", this.#netns(member), process.execPath, "-e", AGENT, member, serves])
    this.#agents.set(member, agent)
    agent.stderr.pipe(process.stderr)
    const ready = Promise.withResolvers<void>()
    agent.once("close", () => ready.reject(new Error(`the agent of ${member} ended`)))
    createInterface({ input: agent.stdout }).on("line", (line) => {
      const { id, text } = JSON.parse(line) as { id: number; text: string }
      if (id === 0) ready.resolve()
      this.#answers.get(id)?.(text)
      this.#answers.delete(id)
    })
    await ready.promise
  }
}
