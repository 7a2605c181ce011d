import type { Job } from "../../pkg/api/batch/v1/job.ts"
import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { isNotFound } from "../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource } from "../../pkg/apimachinery/resource.ts"
import type { Client } from "../../pkg/client/client.ts"
import { sleep, type Clock } from "../../pkg/clock/clock.ts"
import type { ResourceOf } from "./config.ts"
import { readManifest } from "../../pkg/yaml/manifest.ts"

/** An object of a manifest, with the kind that the cluster serves it as. */
export interface Wanted {
  readonly resource: Resource
  readonly name: string
  /** Undefined for an object of the cluster. */
  readonly namespace: string | undefined
  readonly body: Readonly<Record<string, unknown>>
}

export const MANAGER = "helm"
const MANAGED_BY = "app.kubernetes.io/managed-by"
const RELEASE_NAME = "meta.helm.sh/release-name"
const RELEASE_NAMESPACE = "meta.helm.sh/release-namespace"
const RESOURCE_POLICY = "helm.sh/resource-policy"

type Metadata = Readonly<Record<string, unknown>> & {
  readonly name?: string
  readonly namespace?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}
export const metadataOf = ({ body }: Pick<Wanted, "body">): Metadata => (body["metadata"] ?? {}) as Metadata

/** Returns the objects of a manifest of one or more documents; those of a List one by one. @throws Error */
export function objectsIn(text: string, namespace: string, resourceOf: ResourceOf): readonly Wanted[] {
  return readManifest(text).flatMap(({ value }) => (value === null ? [] : wantedOf(value, namespace, resourceOf)))
}

function wantedOf(value: unknown, release: string, resourceOf: ResourceOf): readonly Wanted[] {
  const body = value as Readonly<Record<string, unknown>>
  const { apiVersion, kind, items } = body as { apiVersion?: string; kind?: string; items?: readonly unknown[] }
  if (typeof kind === "string" && kind.endsWith("List") && Array.isArray(items))
    return items.flatMap((item) => wantedOf(item, release, resourceOf))
  const resource = resourceOf(String(apiVersion), String(kind))
  if (resource === undefined)
    throw new Error(
      `resource mapping not found: no matches for kind ${JSON.stringify(kind)} in version ${JSON.stringify(apiVersion)}`,
    )
  const { name, namespace = release } = metadataOf({ body })
  if (name === undefined || name === "") throw new Error(`an object of kind ${kind} has no name`)
  return [{ resource, name, namespace: resource.scope === "Namespaced" ? namespace : undefined, body }]
}

export const isSame = (a: Wanted, b: Wanted): boolean =>
  a.resource.group === b.resource.group &&
  a.resource.plural === b.resource.plural &&
  a.name === b.name &&
  a.namespace === b.namespace

export const shown = ({ resource, name, namespace }: Wanted): string =>
  `${resource.kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`

/** Whether an object stays when its release does not name it any more. */
export const isKept = (wanted: Wanted): boolean =>
  metadataOf(wanted).annotations?.[RESOURCE_POLICY]?.trim().toLowerCase() === "keep"

/** The objects of one release in the cluster. */
export class ClusterObjects {
  readonly #client: Client
  readonly #clock: Clock
  readonly #release: { readonly name: string; readonly namespace: string }

  readonly #signal: AbortSignal

  constructor(
    { client, clock, signal }: { readonly client: Client; readonly clock: Clock; readonly signal: AbortSignal },
    release: { readonly name: string; readonly namespace: string },
  ) {
    this.#client = client
    this.#clock = clock
    this.#signal = signal
    this.#release = release
  }

  async get({ resource, name, namespace }: Wanted): Promise<KubeObject | undefined> {
    try {
      return await this.#client.get(resource, { name, namespace })
    } catch (err) {
      if (isNotFound(err)) return undefined
      throw err
    }
  }

  /** Fails where an object is there that this release has not made. Source: helm.sh/helm/v3/pkg/action/validate.go. */
  async checkOwner(wanted: Wanted): Promise<void> {
    const found = await this.get(wanted)
    const faults = found === undefined ? [] : this.#ownerFaults(found)
    if (faults.length > 0)
      throw new Error(
        `${shown(wanted)} exists and cannot be imported into the current release: invalid ownership metadata; ${faults.join("; ")}`,
      )
  }

  /** Returns why an object does not count as one of this release; none for one that does. */
  #ownerFaults({ metadata: { labels = {}, annotations = {} } }: KubeObject): readonly string[] {
    return [
      labels[MANAGED_BY] === "Helm" ? "" : `label validation error: key "${MANAGED_BY}" must equal "Helm"`,
      annotations[RELEASE_NAME] === this.#release.name
        ? ""
        : `annotation validation error: key "${RELEASE_NAME}" must equal "${this.#release.name}"`,
      annotations[RELEASE_NAMESPACE] === this.#release.namespace
        ? ""
        : `annotation validation error: key "${RELEASE_NAMESPACE}" must equal "${this.#release.namespace}"`,
    ].filter((fault) => fault !== "")
  }

  /** Applies an object as one of the release. */
  async apply(wanted: Wanted, force: boolean): Promise<void> {
    const { name: release, namespace } = this.#release
    const metadata = metadataOf(wanted)
    const body = {
      ...wanted.body,
      metadata: {
        ...metadata,
        ...(wanted.namespace === undefined ? {} : { namespace: wanted.namespace }),
        labels: { ...metadata.labels, [MANAGED_BY]: "Helm" },
        annotations: { ...metadata.annotations, [RELEASE_NAME]: release, [RELEASE_NAMESPACE]: namespace },
      },
    }
    await this.#patch(wanted, body, force)
  }

  /** Creates an object that belongs to no release: a hook, or a definition of `crds/`. */
  applyAlone(wanted: Wanted): Promise<void> {
    const metadata = {
      ...metadataOf(wanted),
      ...(wanted.namespace === undefined ? {} : { namespace: wanted.namespace }),
    }
    return this.#patch(wanted, { ...wanted.body, metadata }, true)
  }

  async #patch({ resource, name, namespace }: Wanted, body: object, force: boolean): Promise<void> {
    await this.#client.patch(
      resource,
      { name, namespace },
      { type: "apply", body },
      { fieldManager: MANAGER, force, fieldValidation: "Ignore" },
    )
  }

  /** Deletes an object, if it is there. */
  async delete({ resource, name, namespace }: Wanted): Promise<void> {
    try {
      await this.#client.delete(resource, { name, namespace }, { propagationPolicy: "Background" })
    } catch (err) {
      if (!isNotFound(err)) throw err
    }
  }

  /**
   * Deletes an object that a stored release names, if it is there and counts as one of the release. Differs from
   * upstream, which deletes all that is named: whoever may write the Secrets of releases could name any object.
   */
  async deleteOwn(wanted: Wanted): Promise<void> {
    const found = await this.get(wanted)
    if (found !== undefined && this.#ownerFaults(found).length === 0) await this.delete(wanted)
  }

  /** Resolves when an object is not there any more. */
  async gone(wanted: Wanted, deadline: number): Promise<void> {
    await this.#until(wanted, deadline, (found) => found === undefined)
  }

  /** Resolves when a Job or a Pod has ended well; objects of other kinds count as done. @throws Error when it failed */
  async finished(wanted: Wanted, deadline: number): Promise<void> {
    const { kind } = wanted.resource
    if (kind !== "Job" && kind !== "Pod") return
    await this.#until(wanted, deadline, (found) => {
      if (found === undefined) throw new Error(`${shown(wanted)} was deleted before it had ended`)
      if (kind === "Pod") {
        const { phase } = (found as Pod).status
        if (phase === "Failed") throw new Error(`pod ${wanted.name} failed`)
        return phase === "Succeeded"
      }
      const met = (type: string) =>
        (found as Job).status.conditions?.find((one) => one.type === type && one.status === "True")
      const failure = met("Failed")
      if (failure !== undefined) throw new Error(`job ${wanted.name} failed: ${failure.reason ?? ""}`)
      return met("Complete") !== undefined
    })
  }

  async #until(wanted: Wanted, deadline: number, isMet: (found: KubeObject | undefined) => boolean): Promise<void> {
    this.#signal.throwIfAborted()
    const ended = Promise.withResolvers<void>()
    ended.promise.catch(() => undefined) // it may fail while the object is being read
    const abort = () => ended.reject(this.#signal.reason as Error)
    this.#signal.addEventListener("abort", abort)
    try {
      await this.#watchUntil(wanted, deadline, isMet, ended)
    } finally {
      this.#signal.removeEventListener("abort", abort)
    }
  }

  async #watchUntil(
    wanted: Wanted,
    deadline: number,
    isMet: (found: KubeObject | undefined) => boolean,
    ended: PromiseWithResolvers<void>,
  ): Promise<void> {
    const { resource, name, namespace } = wanted
    const look = (found: KubeObject | undefined) => {
      try {
        if (isMet(found)) ended.resolve()
      } catch (err) {
        ended.reject(err as Error)
      }
    }
    for (;;) {
      if (this.#clock.monotonic() > deadline) throw new Error(`timed out waiting for ${shown(wanted)}`)
      look(await this.get(wanted))
      const over = new AbortController()
      const watch = this.#client.watch(
        resource,
        { ...(namespace === undefined ? {} : { namespace }), fieldSelector: `metadata.name=${name}` },
        {
          onEvent: (event) => {
            if (event.type === "DELETED") look(undefined)
            else if (event.type === "ADDED" || event.type === "MODIFIED") look(event.object)
          },
          onEnd: () => over.abort(),
        },
      )
      try {
        const left = Math.max(0, deadline - this.#clock.monotonic())
        const again = sleep(this.#clock, left, over.signal).then(
          () => false,
          () => false,
        )
        if (await Promise.race([ended.promise.then(() => true), again])) return
      } finally {
        watch.close()
        over.abort()
      }
    }
  }
}
