import { isNotFound } from "../../pkg/apimachinery/errors.ts"
import type { Client } from "../../pkg/client/client.ts"
import type { Clock } from "../../pkg/clock/clock.ts"
import { decodeRelease, encodeRelease, releaseName, type Release } from "../../pkg/helm/release.ts"
import { DRIVERS, type ReleaseDriver, type ReleaseDriverName, type ReleaseObject } from "./release-drivers.ts"

/** How many revisions of a release are kept. Source: `helm upgrade --history-max`. */
const MOST_REVISIONS = 10
/** On the object of a revision: what it was made from. */
const CONFIG_HASH = "helmcharts.helm.cattle.io/configHash"

/** What the labels of a revision's object say, which is known without reading the release. */
export interface Revision {
  readonly version: number
  readonly status: string
  readonly hash: string | undefined
}

/** The objects in which Helm keeps a release: one for each revision. Source: helm.sh/helm/v3/pkg/storage/driver. */
export class ReleaseStore {
  readonly #client: Client
  readonly #clock: Clock
  readonly #driver: ReleaseDriver
  readonly #name: string
  readonly #namespace: string

  constructor(
    client: Client,
    clock: Clock,
    of: { readonly name: string; readonly namespace: string; readonly driver: ReleaseDriverName },
  ) {
    this.#client = client
    this.#clock = clock
    this.#driver = DRIVERS[of.driver]
    this.#name = of.name
    this.#namespace = of.namespace
  }

  /** Returns the revisions, the newest first. */
  async revisions(): Promise<readonly Revision[]> {
    const { items } = await this.#client.list(this.#driver.kind, {
      namespace: this.#namespace,
      labelSelector: `owner=helm,name=${this.#name}`,
      ...this.#driver.selected,
    })
    return items
      .map(({ metadata: { labels = {} } }) => ({
        version: Number(labels["version"]),
        status: labels["status"] ?? "unknown",
        hash: labels[CONFIG_HASH],
      }))
      .toSorted((a, b) => b.version - a.version)
  }

  async read(version: number): Promise<Release> {
    const { data }: ReleaseObject = await this.#client.get(this.#driver.kind, this.#ref(version))
    return decodeRelease(this.#driver.decode(data?.["release"] ?? ""))
  }

  /** Creates or replaces the object of a revision. */
  async write(release: Release, hash: string): Promise<void> {
    const { kind, encode, fields } = this.#driver
    const ref = this.#ref(release.version)
    const object = {
      metadata: {
        ...ref,
        labels: {
          name: this.#name,
          owner: "helm",
          status: release.info.status,
          version: String(release.version),
          modifiedAt: String(Math.floor(this.#clock.now() / 1000)),
          [CONFIG_HASH]: hash,
        },
      },
      ...fields,
      data: { release: encode(encodeRelease(release)) },
    }
    const before = await this.#client.get(kind, ref).catch((err: unknown) => {
      if (isNotFound(err)) return undefined
      throw err
    })
    if (before === undefined) await this.#client.create(kind, object)
    else
      await this.#client.update(kind, {
        ...object,
        metadata: { ...object.metadata, resourceVersion: before.metadata.resourceVersion },
      })
  }

  /** Notes that a later revision has taken the place of one. */
  async supersede(version: number, hash: string): Promise<void> {
    const release = await this.read(version)
    await this.write({ ...release, info: { ...release.info, status: "superseded" } }, hash)
  }

  async delete(version: number): Promise<void> {
    await this.#client.delete(this.#driver.kind, this.#ref(version)).catch((err: unknown) => {
      if (!isNotFound(err)) throw err
    })
  }

  /** Deletes the oldest revisions beyond those that are kept. */
  async prune(): Promise<void> {
    for (const { version } of (await this.revisions()).slice(MOST_REVISIONS)) await this.delete(version)
  }

  #ref(version: number) {
    return { name: releaseName(this.#name, version), namespace: this.#namespace }
  }
}
