import { connect, type Socket } from "node:net"

interface Message {
  readonly event?: string
  readonly data?: { readonly status?: string }
  readonly return?: unknown
  readonly error?: { readonly desc: string }
}

/** The connection to QEMU by which a machine is stopped, saved and continued. Source: QEMU docs/interop/qmp-spec. */
export class Qmp implements Disposable {
  readonly #socket: Socket
  readonly #waiting: { wants(message: Message): boolean; resolve(message: Message): void; reject(err: Error): void }[] =
    []
  #rest = ""

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setEncoding("utf8")
    socket.on("data", (text: string) => this.#read(text))
    socket.on("error", () => undefined)
    socket.on("close", () => {
      for (const { reject } of this.#waiting.splice(0)) reject(new Error("QEMU has ended"))
    })
  }

  /** @param path of QEMU's socket */
  static async open(path: string): Promise<Qmp> {
    const socket = connect(path)
    const qmp = new Qmp(socket)
    await new Promise<void>((resolve, reject) => void socket.once("connect", resolve).once("error", reject))
    await qmp.execute("qmp_capabilities")
    await qmp.execute("migrate-set-capabilities", { capabilities: [{ capability: "events", state: true }] })
    return qmp
  }

  async execute(command: string, args: object = {}): Promise<void> {
    const answer = this.#next(({ event }) => event === undefined)
    this.#socket.write(`${JSON.stringify({ execute: command, arguments: args })}\n`)
    const { error } = await answer
    if (error !== undefined) throw new Error(`QEMU refused ${command}: ${error.desc}`)
  }

  /** Writes the state of the machine, which must be stopped, to a file; or reads it back. */
  async migrate(command: "migrate" | "migrate-incoming", uri: string): Promise<void> {
    const ended = this.#next(
      ({ event, data }) => event === "MIGRATION" && (data?.status === "completed" || data?.status === "failed"),
    )
    await Promise.all([this.execute(command, { uri }), ended])
    const { data } = await ended
    if (data?.status !== "completed") throw new Error(`QEMU could not ${command} ${uri}`)
  }

  [Symbol.dispose](): void {
    this.#socket.destroy()
  }

  #next(wants: (message: Message) => boolean): Promise<Message> {
    return new Promise((resolve, reject) => void this.#waiting.push({ wants, resolve, reject }))
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split("\n")
    this.#rest = lines.pop()!
    for (const line of lines) {
      const message = JSON.parse(line) as Message & { readonly QMP?: object }
      if (message.QMP !== undefined) continue
      const index = this.#waiting.findIndex(({ wants }) => wants(message))
      if (index >= 0) this.#waiting.splice(index, 1)[0]!.resolve(message)
    }
  }
}
