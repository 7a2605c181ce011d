import { Secret } from "../../pkg/api/core/v1/secret/secret.ts"
import { isNotFound } from "../../pkg/apimachinery/errors.ts"
import type { Client } from "../../pkg/client/client.ts"
import type { Clock } from "../../pkg/clock/clock.ts"
import { decodeRelease, encodeRelease, RELEASE_TYPE, releaseName, type Release } from "../../pkg/helm/release.ts"

/** How many revisions of a release are kept. Source: `helm upgrade --history-max`. */
const MOST_REVISIONS = 10
/** On the Secret of a release: what it was made from. */
const CONFIG_HASH = "helmcharts.helm.cattle.io/configHash"

/** What the labels of a release's Secret say, which is known without reading the release. */
export interface Revision {
  readonly version: number
  readonly status: string
  readonly hash: string | undefined
}

/** The Secrets in which Helm keeps a release: one for each revision. Source: helm.sh/helm/v3/pkg/storage/driver. */
export class ReleaseStore {
  readonly #client: Client
  readonly #clock: Clock
  readonly #name: string
  readonly #namespace: string

  constructor(
    client: Client,
    clock: Clock,
    { name, namespace }: { readonly name: string; readonly namespace: string },
  ) {
    this.#client = client
    this.#clock = clock
    this.#name = name
    this.#namespace = namespace
  }

  /** Returns the revisions, the newest first. */
  async revisions(): Promise<readonly Revision[]> {
    const { items } = await this.#client.list(Secret, {
      namespace: this.#namespace,
      labelSelector: `owner=helm,name=${this.#name}`,
      fieldSelector: `type=${RELEASE_TYPE}`,
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
    const { data } = await this.#client.get(Secret, this.#ref(version))
    return decodeRelease(Buffer.from(data?.["release"] ?? "", "base64").toString("latin1"))
  }

  /** Creates or replaces the Secret of a revision. */
  async write(release: Release, hash: string): Promise<void> {
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
      type: RELEASE_TYPE,
      data: { release: Buffer.from(encodeRelease(release), "latin1").toString("base64") },
    }
    const before = await this.#client.get(Secret, ref).catch((err: unknown) => {
      if (isNotFound(err)) return undefined
      throw err
    })
    if (before === undefined) await this.#client.create(Secret, object)
    else
      await this.#client.update(Secret, {
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
    await this.#client.delete(Secret, this.#ref(version)).catch((err: unknown) => {
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
