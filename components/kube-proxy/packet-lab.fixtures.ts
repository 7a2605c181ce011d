/**
 * A node, its pods, a pod of another node and a machine outside of the cluster, each a network namespace, for tests
 * that send real packets.
 */
import { execFile, spawn, type ChildProcessWithoutNullStreams } from "node:child_process"
import { createInterface } from "node:readline"
import { promisify } from "node:util"
import { familyOf, type Family } from "../../pkg/apimachinery/addresses/cidr.ts"
import { hostIn, type Host } from "../../pkg/netfilter/host.ts"

const run = promisify(execFile)

/** Pods; `web-3` is on another node. */
const PODS = ["pod-a", "web-1", "web-2", "web-3"] as const
export type LabPod = (typeof PODS)[number]
export type LabMember = LabPod | "outside" | "node"

export interface LabAddresses {
  readonly pods: Readonly<Record<LabPod, string>>
  readonly clusterCidr: string
  readonly outside: string
  /** The node's address outside, and the one by which pods reach it. */
  readonly node: string
  readonly nodeForPods: string
}
/** Every member has an address in each family. */
export const LAB: Readonly<Record<Family, LabAddresses>> = {
  IPv4: {
    pods: { "pod-a": "10.42.0.2", "web-1": "10.42.0.5", "web-2": "10.42.0.6", "web-3": "10.42.1.7" },
    clusterCidr: "10.42.0.0/16",
    outside: "192.0.2.9",
    node: "192.0.2.1",
    nodeForPods: "10.42.0.1",
  },
  IPv6: {
    pods: { "pod-a": "fd42::2", "web-1": "fd42::5", "web-2": "fd42::6", "web-3": "fd42::1:0:0:7" },
    clusterCidr: "fd42::/48",
    outside: "2001:db8::9",
    node: "2001:db8::1",
    nodeForPods: "fd42::1",
  },
}

/** The servers respond and close; or echo what they get for as long as the client stays. */
export const ANSWER_PORT = 8080
export const ECHO_PORT = 9090
/** A connection without a response in this time counts as dropped. */
const PATIENCE_MS = 700

/**
 * The program in every namespace. Its servers respond with their name and the client's address. It also connects on
 * request: each line of JSON on its input is a request, each line on its output the response.
 */
const AGENT = `
const net = require("node:net"), dgram = require("node:dgram")
const [name, serves] = process.argv.slice(1)
const answer = (address) => name + " as " + address.replace("::ffff:", "")
if (serves === "serves") {
  net.createServer((socket) => socket.on("error", () => {}).end(answer(socket.remoteAddress))).listen(${ANSWER_PORT}, "::")
  net.createServer((socket) => socket.on("error", () => {}).pipe(socket)).listen(${ECHO_PORT}, "::")
  for (const type of ["udp4", "udp6"]) {
    const udp = dgram.createSocket({ type, ipv6Only: type === "udp6" })
    udp.on("message", (_, from) => udp.send(answer(from.address), from.port, from.address))
    udp.bind(${ANSWER_PORT})
  }
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
    const socket = open.get(connection) ?? dgram.createSocket(net.isIPv6(address) ? "udp6" : "udp4")
    if (connection !== undefined) open.set(connection, socket)
    socket.once("message", (bytes) => (done(bytes.toString()), connection ?? socket.close()))
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

const WITHOUT_DETECTION = "echo 0 | tee /proc/sys/net/ipv6/conf/*/accept_dad > /dev/null"
const alone = (address: string): string => `${address}/${familyOf(address) === "IPv6" ? 128 : 32}`
const beside = (address: string): string => `${address}/${familyOf(address) === "IPv6" ? 64 : 24}`

export class PacketLab {
  readonly #prefix: string
  readonly #agents = new Map<LabMember, ChildProcessWithoutNullStreams>()
  readonly #answers = new Map<number, (text: string) => void>()
  #lastId = 0

  private constructor(prefix: string) {
    this.#prefix = prefix
  }

  /** @param name distinguishes labs of one process */
  static async start(name: string): Promise<PacketLab> {
    const lab = new PacketLab(`k3ts-lab-${process.pid}-${name}`)
    const node = lab.netns("node")
    const outside = lab.netns("outside")
    const inNode = PODS.flatMap((pod, i) => {
      const ns = lab.netns(pod)
      return [
        `ip link add v${i} type veth peer name eth0 netns ${ns}`,
        `ip link set v${i} up`,
        `ip -n ${ns} link set eth0 up`,
        `ip -n ${ns} link set lo up`,
        ...Object.values(LAB).flatMap(({ pods, nodeForPods }) => [
          `ip addr add ${alone(nodeForPods)} dev v${i}`,
          `ip route add ${pods[pod]} dev v${i}`,
          `ip -n ${ns} addr add ${alone(pods[pod])} dev eth0`,
          `ip -n ${ns} route add ${nodeForPods} dev eth0`,
          `ip -n ${ns} route add default via ${nodeForPods}`,
        ]),
      ]
    })
    const members = [...PODS, "node", "outside"] as const
    const script = [
      "set -e",
      ...members.map((member) => `ip netns add ${lab.netns(member)}`),
      // Without duplicate address detection IPv6 addresses can be used at once, instead of after a second.
      ...members.map((member) => `ip netns exec ${lab.netns(member)} sh -c "${WITHOUT_DETECTION}"`),
      `ip netns exec ${node} sh -ec '
        ip link set lo up
        echo 1 > /proc/sys/net/ipv4/ip_forward
        echo 1 > /proc/sys/net/ipv4/conf/all/route_localnet
        echo 1 > /proc/sys/net/ipv6/conf/all/forwarding
        ${inNode.join("\n")}
        ip link add out type veth peer name eth0 netns ${outside}
        ip link set out up
        ip -n ${outside} link set eth0 up
        ${Object.values(LAB)
          .flatMap((of) => [
            `ip addr add ${beside(of.node)} dev out`,
            `ip route add default via ${of.outside}`,
            `ip -n ${outside} addr add ${beside(of.outside)} dev eth0`,
            `ip -n ${outside} route add default via ${of.node}`,
          ])
          .join("\n")}'`,
    ]
    await run("sh", ["-c", script.join("\n")])
    await Promise.all(members.map((member) => lab.#startAgent(member)))
    return lab
  }

  /** The host on which a proxy writes the node's rules. */
  get host(): Host {
    return hostIn(this.netns("node"))
  }

  /** Opens one connection. Returns the server's response, such as `web-1 as 10.42.0.2`, or `refused`, or `dropped`. */
  ask(from: LabMember, address: string, port: number, protocol: "tcp" | "udp" = "tcp"): Promise<string> {
    return this.#request(from, { address, port, udp: protocol === "udp" })
  }

  /** Tries until a server responds. */
  reach(from: LabMember, address: string, port: number): Promise<string> {
    return this.#request(from, { address, port, reach: true })
  }

  /** Returns the responses of as many connections as needed for `count` different ones, but at most 80. */
  async askAll(from: LabMember, address: string, port: number, count: number): Promise<readonly string[]> {
    const answers = new Set<string>()
    for (let round = 0; round < 5 && (round === 0 || answers.size < count); round++)
      for (const answer of await Promise.all(Array.from({ length: 16 }, () => this.ask(from, address, port))))
        answers.add(answer)
    return [...answers].sort()
  }

  /** Opens a connection, or a UDP socket, that stays open; `say` returns what comes back. */
  connect(
    from: LabMember,
    address: string,
    port: number,
    protocol: "tcp" | "udp" = "tcp",
  ): { readonly say: (text: string) => Promise<string> } {
    const connection = ++this.#lastId
    return { say: (text) => this.#request(from, { address, port, udp: protocol === "udp", connection, text }) }
  }

  async stop(): Promise<void> {
    for (const agent of this.#agents.values()) agent.kill()
    await Promise.all([...this.#agents.keys()].map((member) => run("ip", ["netns", "del", this.netns(member)])))
  }

  /** The name of a member's network namespace. */
  netns(member: LabMember): string {
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
    const agent = spawn("ip", ["netns", "exec", this.netns(member), process.execPath, "-e", AGENT, member, serves])
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
