import { Agent, request } from "node:https"
import { ServiceAccount, startCluster, type Listening } from "../../components/cluster/testing/testing.ts"

export interface Answer {
  readonly code: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly bytes: Buffer
  readonly text: string
  /** The body as JSON; an empty object if it is no JSON. */
  readonly body: Loose
}
/** An object, list, review or Status as it came over the wire, with the fields that tests read one by one. */
export interface Loose {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly uid: string
    readonly resourceVersion: string
    readonly generation: number
    readonly creationTimestamp: string
    readonly deletionTimestamp?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
    readonly finalizers?: readonly string[]
    readonly ownerReferences?: readonly { readonly uid: string; readonly name: string; readonly controller?: boolean }[]
    readonly managedFields?: readonly {
      readonly manager: string
      readonly operation: string
      readonly subresource?: string
      readonly fieldsV1?: unknown
    }[]
    readonly continue?: string
    readonly remainingItemCount?: number
  }
  readonly spec: LooseFields & { readonly replicas?: number; readonly clusterIP?: string; readonly nodeName?: string }
  readonly status: LooseFields & {
    readonly phase?: string
    readonly replicas?: number
    readonly readyReplicas?: number
    readonly availableReplicas?: number
    readonly observedGeneration?: number
    readonly conditions?: readonly {
      readonly type: string
      readonly status: string
      readonly reason: string
      readonly message: string
    }[]
    readonly used?: Readonly<Record<string, string>>
    readonly hard?: Readonly<Record<string, string>>
  }
  readonly data?: Readonly<Record<string, string>>
  readonly items: readonly Loose[]
  readonly code: number
  readonly reason: string
  readonly message: string
  readonly [field: string]: unknown
}
export interface LooseFields {
  readonly [field: string]: unknown
}

export interface Send {
  readonly body?: unknown
  /** Content type; JSON unless given. */
  readonly type?: string
  readonly accept?: string
  readonly headers?: Readonly<Record<string, string>>
  /** A bearer token instead of the administrator's. */
  readonly token?: string
}
export interface WatchedEvent {
  readonly type: string
  readonly object: Loose
}
export interface OpenWatch {
  readonly events: readonly WatchedEvent[]
  /** Resolves to the events once `enough` holds for them. Fails after five seconds, or after the host's limit. */
  until(enough: (events: readonly WatchedEvent[]) => boolean): Promise<readonly WatchedEvent[]>
  close(): void
}

const PATCHES = {
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  json: "application/json-patch+json",
  apply: "application/apply-patch+yaml",
} as const
/** Represents an object that does not exist. */
const ABSENT = {} as Loose
/** Far longer than any change takes in memory; only a failing test waits this long. */
const PATIENCE_MS = 5_000

/** The components of the cluster under test. */
export interface Host {
  stop(): Promise<void>
  /** Makes the store forget all history. Undefined when the cluster is a process of its own. */
  forgetHistory?(): void
  /** How long a test waits for a change, in milliseconds. */
  readonly patienceMs?: number
}

/** A cluster that listens on loopback, in this process or in one of its own. Tests use it over HTTP, as clients do. */
export class ConformanceCluster {
  readonly kubeconfig: string
  readonly port: number
  readonly token: string
  readonly #host: Host
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 16, rejectUnauthorized: false })

  constructor(host: Host, { port, token, kubeconfig }: Listening) {
    this.#host = host
    this.port = port
    this.token = token
    this.kubeconfig = kubeconfig
  }

  async stop(): Promise<void> {
    this.#agent.destroy()
    await this.#host.stop()
  }

  /** Makes the store forget all history, as compaction does after some time. */
  compact(): void {
    this.#host.forgetHistory?.()
  }

  send(
    method: string,
    path: string,
    { body, type = "application/json", accept = "application/json", headers = {}, token }: Send = {},
  ): Promise<Answer> {
    const bytes =
      body === undefined
        ? undefined
        : body instanceof Uint8Array || typeof body === "string"
          ? Buffer.from(body)
          : Buffer.from(JSON.stringify(body))
    return new Promise((resolve, reject) => {
      const req = request(
        {
          host: "127.0.0.1",
          port: this.port,
          method,
          path,
          agent: this.#agent,
          headers: {
            authorization: `Bearer ${token ?? this.token}`,
            accept,
            ...(bytes === undefined ? {} : { "content-type": type, "content-length": bytes.length }),
            ...headers,
          },
        },
        (res) => {
          const parts: Buffer[] = []
          res.on("data", (part: Buffer) => parts.push(part))
          res.on("end", () => {
            const all = Buffer.concat(parts)
            const text = all.toString()
            resolve({
              code: res.statusCode!,
              headers: res.headers,
              bytes: all,
              text,
              body: (text.startsWith("{") ? JSON.parse(text) : {}) as Loose,
            })
          })
          res.on("error", reject)
        },
      )
      req.on("error", reject)
      req.end(bytes)
    })
  }

  /** Sends a request and expects success. */
  async ok(method: string, path: string, options: Send = {}): Promise<Loose> {
    const answer = await this.send(method, path, options)
    if (answer.code >= 300) throw new Error(`${method} ${path}: ${answer.code} ${answer.text}`)
    return answer.body
  }
  get(path: string): Promise<Loose> {
    return this.ok("GET", path)
  }
  post(path: string, body: unknown): Promise<Loose> {
    return this.ok("POST", path, { body })
  }
  put(path: string, body: unknown): Promise<Loose> {
    return this.ok("PUT", path, { body })
  }
  delete(path: string, body?: unknown): Promise<Loose> {
    return this.ok("DELETE", path, body === undefined ? {} : { body })
  }
  patch(path: string, kind: keyof typeof PATCHES, body: unknown): Promise<Loose> {
    return this.ok("PATCH", path, { body, type: PATCHES[kind] })
  }

  /** Resolves when the server has begun to answer, so that no later change is missed. */
  async watch(path: string): Promise<OpenWatch> {
    const { promise: opened, resolve: open } = Promise.withResolvers<void>()
    const events: WatchedEvent[] = []
    let check = (): void => undefined
    let ended: string | undefined
    const end = (why: string): void => {
      ended ??= why
      open()
      check()
    }
    const req = request(
      {
        host: "127.0.0.1",
        port: this.port,
        path: `${path}${path.includes("?") ? "&" : "?"}watch=1`,
        agent: false,
        rejectUnauthorized: false,
        headers: { authorization: `Bearer ${this.token}` },
      },
      (res) => {
        open()
        let rest = ""
        res.on("data", (part: Buffer) => {
          const lines = (rest + part.toString()).split("\n")
          rest = lines.pop()!
          for (const line of lines) events.push(JSON.parse(line) as WatchedEvent)
          check()
        })
        res.on("end", () => end("the server ended the watch"))
      },
    )
    req.on("error", (err) => end(String(err)))
    req.end()
    await opened
    return {
      events,
      until: (enough) =>
        new Promise((resolve, reject) => {
          const fail = (why: string): void => {
            clearTimeout(timer)
            reject(new Error(`${why}: ${path}: ${JSON.stringify(events)}`.slice(0, 3000)))
          }
          const timer = setTimeout(() => fail("Waited in vain"), this.#host.patienceMs ?? PATIENCE_MS)
          check = () => {
            if (enough(events)) {
              clearTimeout(timer)
              resolve(events)
            } else if (ended !== undefined) fail(ended)
          }
          check()
        }),
      close: () => void req.destroy(),
    }
  }

  /**
   * Resolves to the object at `path` once `wanted` holds for it. `wanted` gets undefined while the object does not
   * exist.
   */
  async until(path: string, wanted: (object: Loose | undefined) => boolean): Promise<Loose> {
    const [collection, name] = [path.slice(0, path.lastIndexOf("/")), path.slice(path.lastIndexOf("/") + 1)]
    const watch = await this.watch(`${collection}?fieldSelector=metadata.name%3D${name}`)
    const latest = (events: readonly WatchedEvent[]): Loose | undefined => {
      const last = events.at(-1)
      return last === undefined || last.type === "DELETED" ? undefined : last.object
    }
    try {
      const now = await this.send("GET", path)
      if (now.code === 404 && wanted(undefined)) return ABSENT
      return latest(await watch.until((events) => events.length > 0 && wanted(latest(events)))) ?? ABSENT
    } finally {
      watch.close()
    }
  }

  /** Resolves to the items of a list once `wanted` holds for them. */
  async untilList(path: string, wanted: (items: readonly Loose[]) => boolean): Promise<readonly Loose[]> {
    const list = await this.get(path)
    const items = new Map<string, Loose>(list.items.map((item) => [item.metadata.uid, item]))
    if (wanted([...items.values()])) return [...items.values()]
    const watch = await this.watch(
      `${path}${path.includes("?") ? "&" : "?"}resourceVersion=${list.metadata.resourceVersion}`,
    )
    const seen = { count: 0 }
    try {
      await watch.until((events) => {
        for (; seen.count < events.length; seen.count++) {
          const { type, object } = events[seen.count]!
          if (type === "DELETED") items.delete(object.metadata.uid)
          else items.set(object.metadata.uid, object)
        }
        return wanted([...items.values()])
      })
      return [...items.values()]
    } finally {
      watch.close()
    }
  }
}

export interface ConformanceOptions {
  /** Whether controllers and the scheduler run. Without them the service account that pods need is created anyway. */
  readonly controllers?: boolean
  readonly nodes?: number
}

export async function startConformanceCluster({
  controllers = false,
  nodes = 0,
}: ConformanceOptions = {}): Promise<ConformanceCluster> {
  const cluster = await startCluster({ clock: "real", nodes, components: { controllers, scheduler: controllers } })
  if (!controllers) await cluster.client.create(ServiceAccount, { metadata: { namespace: "default", name: "default" } })
  return new ConformanceCluster(
    { stop: () => cluster.stop(), forgetHistory: () => cluster.faults.forgetHistory() },
    await cluster.listen(),
  )
}
