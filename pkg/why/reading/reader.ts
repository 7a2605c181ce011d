import type { KubeObject } from "../../apimachinery/resource.ts"
import { exactKey } from "../../cache/exact-key.ts"
import { errorMessage } from "../../errors/error-message.ts"
import type { ObjectRef } from "../answer.ts"
import { KINDS, pathOf, type Kind } from "./kinds.ts"

/** All that the answers are made of: GET requests as the user who asks, whose rights decide what is seen. */
export interface WhyApi {
  /** Sends GET and resolves with code and body. Rejects only where there is no answer. */
  get(path: string, accept?: string): Promise<{ readonly code: number; readonly text: string }>
  /** Milliseconds since the epoch. */
  now(): number
  /** Lets everything else run, where it is a server that looks at its own cluster. */
  turn?(): Promise<void>
}

/** Something could not be read, and what depends on it cannot be told. */
export class CannotRead extends Error {
  override readonly name = "CannotRead"
}

/** As much of a line of a log is read. */
const LONGEST_LINE = 1000

/** Reads each object and each list once. */
export class Reader {
  readonly now: number
  readonly #api: WhyApi
  readonly #answers = new Map<string, Promise<{ readonly code: number; readonly text: string }>>()
  readonly #lists = new Map<string, Promise<readonly KubeObject[]>>()
  /** The objects of each list by namespace and name. */
  readonly #named = new WeakMap<readonly KubeObject[], ReadonlyMap<string, KubeObject>>()
  #served: Promise<readonly Kind[]> | undefined

  constructor(api: WhyApi) {
    this.#api = api
    this.now = api.now()
  }

  /** Lets others have their turn: what is asked of lists that were read waits for nothing. */
  async turn(): Promise<void> {
    await this.#api.turn?.()
  }

  /** Returns an object; undefined when there is none. @throws CannotRead */
  async get<T extends KubeObject>(kind: Kind<T>, namespace: string | undefined, name: string): Promise<T | undefined> {
    const listed = this.#lists.get(pathOf(kind)) ?? this.#lists.get(pathOf(kind, namespace))
    if (listed !== undefined)
      return this.#byName(await listed).get(exactKey([(kind.namespaced ? namespace : undefined) ?? "", name])) as
        | T
        | undefined
    const path = pathOf(kind, namespace, name)
    const { code, text } = await this.#get(path)
    if (code === 404) return undefined
    return complete(kind, parsed(path, code, text) as T)
  }

  /** Returns the objects of a namespace, or of all namespaces. @throws CannotRead */
  async list<T extends KubeObject>(kind: Kind<T>, namespace?: string): Promise<readonly T[]> {
    const everywhere = this.#lists.get(pathOf(kind))
    const path = pathOf(kind, namespace)
    const known = this.#lists.get(path)
    if (known !== undefined) return (await known) as readonly T[]
    const reading =
      everywhere === undefined
        ? this.#list(kind, path)
        : everywhere.then((all) => all.filter(({ metadata }) => metadata.namespace === namespace))
    this.#lists.set(path, reading)
    reading.catch(() => this.#lists.delete(path))
    return (await reading) as readonly T[]
  }

  /** Returns the objects, or none and why they cannot be read. */
  async listIfAllowed<T extends KubeObject>(kind: Kind<T>, namespace?: string): Promise<readonly T[] | undefined> {
    try {
      return await this.list(kind, namespace)
    } catch {
      return undefined
    }
  }

  /** Returns a text, such as a log; undefined where there is none or it may not be read. */
  async text(path: string): Promise<string | undefined> {
    try {
      const { code, text } = await this.#get(path)
      return code === 200 ? text : undefined
    } catch {
      return undefined
    }
  }

  /** Returns the API server's words for a request that failed; undefined for one that was answered. */
  async failure(path: string): Promise<string | undefined> {
    try {
      const { code, text } = await this.#get(path)
      return code < 500 ? undefined : ((JSON.parse(text) as { readonly message?: string }).message ?? text)
    } catch {
      return undefined
    }
  }

  /** Returns the last lines that a container has written, without empty ones. */
  async log(
    { namespace, name }: Pick<ObjectRef, "namespace" | "name">,
    container: string,
    { previous = false, lines = 20 }: { readonly previous?: boolean; readonly lines?: number } = {},
  ): Promise<readonly string[]> {
    const query = new URLSearchParams({
      container,
      tailLines: String(lines),
      ...(previous ? { previous: "true" } : {}),
    })
    const path = `/api/v1/namespaces/${namespace ?? ""}/pods/${name}/log?${query}`
    const text = (await this.text(path)) ?? ""
    return text
      .split("\n")
      .filter((line) => line.trim() !== "")
      .map((line) => line.slice(0, LONGEST_LINE))
  }

  /** Returns the kind that a word names, or undefined; asks the server for words that are not known. */
  async kindNamed(word: string): Promise<Kind | undefined> {
    const { isMeant } = await import("./kinds.ts")
    return KINDS.find((kind) => isMeant(kind, word)) ?? (await this.served()).find((kind) => isMeant(kind, word))
  }

  /** Returns the kind of an object that another one names; undefined where the server has none. */
  async kindOf({ apiVersion, kind }: Pick<ObjectRef, "apiVersion" | "kind">): Promise<Kind | undefined> {
    const is = (one: Kind) => one.apiVersion === apiVersion && one.kind === kind
    return KINDS.find(is) ?? (await this.served()).find(is)
  }

  /** Returns all kinds that the server has. @throws CannotRead */
  served(): Promise<readonly Kind[]> {
    return (this.#served ??= import("./discovery.ts").then(({ discover }) =>
      discover(async (path, accept) => {
        const { code, text } = await this.#api.get(path, accept)
        return parsed(path, code, text)
      }),
    ))
  }

  #byName(list: readonly KubeObject[]): ReadonlyMap<string, KubeObject> {
    let found = this.#named.get(list)
    if (found === undefined) {
      found = new Map(list.map((one) => [exactKey([one.metadata.namespace ?? "", one.metadata.name ?? ""]), one]))
      this.#named.set(list, found)
    }
    return found
  }

  async #list(kind: Kind, path: string): Promise<readonly KubeObject[]> {
    const { code, text } = await this.#get(path)
    const { items } = parsed(path, code, text) as { readonly items?: readonly KubeObject[] | null }
    return (items ?? []).map((item) => complete(kind, item))
  }

  #get(path: string): Promise<{ readonly code: number; readonly text: string }> {
    const known = this.#answers.get(path)
    if (known !== undefined) return known
    const answer = this.#api.get(path).catch((err: unknown) => {
      throw new CannotRead(`cannot read ${path}: ${errorMessage(err)}`)
    })
    this.#answers.set(path, answer)
    return answer
  }
}

function parsed(path: string, code: number, text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new CannotRead(`cannot read ${path}: the server answered ${code}`)
  }
  if (code >= 300) throw new CannotRead((value as { readonly message?: string }).message ?? `${path}: ${code}`)
  return value
}

/** Returns the object with the parts that doctors expect of every object. */
const complete = <T extends KubeObject>({ apiVersion, kind }: Kind, object: T): T => ({
  spec: {},
  status: {},
  ...object,
  apiVersion: object.apiVersion ?? apiVersion,
  kind: object.kind ?? kind,
})
