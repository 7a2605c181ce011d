import { createHash } from "node:crypto"
import { deepEqual } from "../../pkg/apimachinery/json/equal.ts"
import { isNotFound } from "../../pkg/apimachinery/errors.ts"
import { ConfigMap } from "../../pkg/api/core/v1/configmap.ts"
import type { Client } from "../../pkg/client/client.ts"

/** An object that a manifest made. */
export interface Deployed {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace?: string
  readonly name: string
}

const NAMESPACE = "kube-system"
const LABEL = "k3ts.io/manifest-inventory"

/**
 * What each manifest made, kept in the API as a ConfigMap a file, so that it is known also for a file that was removed
 * while the server did not run. An object is in it before it is made, and until after it is removed.
 */
export class Inventory {
  readonly #client: Client
  readonly #known = new Map<string, readonly Deployed[]>()

  constructor(client: Client) {
    this.#client = client
  }

  /** Names of the files that have an inventory. */
  async load(): Promise<readonly string[]> {
    const { items } = await this.#client.list(ConfigMap, { namespace: NAMESPACE, labelSelector: LABEL })
    this.#known.clear()
    for (const { data } of items) {
      if (data?.file !== undefined) this.#known.set(data.file, JSON.parse(data.objects ?? "[]") as Deployed[])
    }
    return [...this.#known.keys()]
  }

  of(file: string): readonly Deployed[] {
    return this.#known.get(file) ?? []
  }

  async set(file: string, objects: readonly Deployed[]): Promise<void> {
    if (this.#known.has(file) ? deepEqual(this.of(file), objects) : objects.length === 0) return
    const metadata = { namespace: NAMESPACE, name: nameOf(file) }
    if (objects.length === 0) {
      await this.#client.delete(ConfigMap, metadata).catch((err: unknown) => {
        if (!isNotFound(err)) throw err
      })
      this.#known.delete(file)
      return
    }
    const body = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { ...metadata, labels: { [LABEL]: "true" } },
      data: { file, objects: JSON.stringify(objects) },
    }
    await this.#client.patch(
      ConfigMap,
      metadata,
      { type: "apply", body },
      { fieldManager: "k3ts-deployer", force: true },
    )
    this.#known.set(file, objects)
  }
}

/** A file's name may have letters that a ConfigMap's may not. */
const nameOf = (file: string): string =>
  `manifest-${file
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "")
    .slice(0, 40)}-${createHash("sha256").update(file).digest("hex").slice(0, 8)}`

export const sameObject = (a: Deployed, b: Deployed): boolean =>
  a.apiVersion === b.apiVersion && a.kind === b.kind && a.namespace === b.namespace && a.name === b.name
