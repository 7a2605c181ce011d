/** Programs in network namespaces that answer connections with their name, and connect on request. */
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process"
import { createInterface } from "node:readline"

/** The servers respond and close; or echo what they get for as long as the client stays. */
export const ANSWER_PORT = 8080
export const ECHO_PORT = 9090
/**
 * A connection without a response in this time counts as dropped, once every program has shown that it is not late
 * itself: on a busy machine each may have to wait for the processor for longer than that.
 */
const PATIENCE_MS = 700
/** How often the programs run between a request and its response at most: to connect, to accept, to answer, to read. */
const MOST_TURNS = 4

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
  const done = (said) => say(id, said)
  if (udp) {
    const socket = open.get(connection) ?? dgram.createSocket(net.isIPv6(address) ? "udp6" : "udp4")
    if (connection !== undefined) open.set(connection, socket)
    socket.once("message", (bytes) => (done(bytes.toString()), connection ?? socket.close()))
    return socket.send(text ?? "hello", port, address)
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
    question.ping ? say(question.id, "here") : question.reach ? reach(question) : ask(question)
  }
}).on("end", () => process.exit())
say(0, "ready")
`

/** A lab whose members, each in a network namespace of its own, run such a program. */
export class LabAgents<Member extends string> {
  readonly #prefix: string
  readonly #agents = new Map<Member, ChildProcessWithoutNullStreams>()
  readonly #answers = new Map<number, (text: string) => void>()
  #lastId = 0

  /** @param prefix begins the names of the lab's network namespaces */
  constructor(prefix: string) {
    this.#prefix = prefix
  }

  /** The name of a member's network namespace. */
  netns(member: Member): string {
    return `${this.#prefix}-${member}`
  }

  /** Starts the program of a member. One that `serves` answers on ANSWER_PORT and ECHO_PORT. */
  async startAgent(member: Member, serves: boolean): Promise<void> {
    const args = [process.execPath, "-e", AGENT, member, serves ? "serves" : "asks"]
    const agent = spawn("ip", ["netns", "exec", this.netns(member), ...args])
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

  /** Opens one connection. Returns the server's response, such as `web-1 as 10.42.0.2`, or `refused`, or `dropped`. */
  ask(from: Member, address: string, port: number, protocol: "tcp" | "udp" = "tcp"): Promise<string> {
    return this.#answer(from, { address, port, udp: protocol === "udp" })
  }

  /** Tries until a server responds. */
  reach(from: Member, address: string, port: number): Promise<string> {
    return this.#request(from, { address, port, reach: true })
  }

  /** Returns the responses of as many connections as needed for `count` different ones, but at most 80. */
  async askAll(from: Member, address: string, port: number, count: number): Promise<readonly string[]> {
    const answers = new Set<string>()
    for (let round = 0; round < 5 && (round === 0 || answers.size < count); round++)
      for (const answer of await Promise.all(Array.from({ length: 16 }, () => this.ask(from, address, port))))
        answers.add(answer)
    return [...answers].sort()
  }

  /** Opens a connection, or a UDP socket, that stays open; `say` sends a text and returns what comes back. */
  connect(
    from: Member,
    address: string,
    port: number,
    protocol: "tcp" | "udp" = "tcp",
  ): { readonly say: (text: string) => Promise<string> } {
    const connection = ++this.#lastId
    return { say: (text) => this.#answer(from, { address, port, udp: protocol === "udp", connection, text }) }
  }

  stopAgents(): void {
    for (const agent of this.#agents.values()) agent.kill()
  }

  /** Resolves with the response, or with `dropped` when all programs have had their turns and none came. */
  #answer(from: Member, question: object): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<string>()
    void this.#request(from, question).then(resolve)
    const timer = setTimeout(() => void this.#everybodyRan().then(() => resolve("dropped")), PATIENCE_MS)
    return promise.finally(() => clearTimeout(timer))
  }

  async #everybodyRan(): Promise<void> {
    for (let i = 0; i < MOST_TURNS; i++)
      await Promise.all([...this.#agents.keys()].map((member) => this.#request(member, { ping: true })))
  }

  #request(from: Member, question: object): Promise<string> {
    const id = ++this.#lastId
    const { promise, resolve } = Promise.withResolvers<string>()
    this.#answers.set(id, resolve)
    this.#agents.get(from)!.stdin.write(`${JSON.stringify({ id, ...question })}\n`)
    return promise
  }
}
