import { CustomResourceDefinition } from "../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import { Namespace } from "../../pkg/api/core/v1/namespace.ts"
import { isAlreadyExists } from "../../pkg/apimachinery/errors.ts"
import type { Client } from "../../pkg/client/client.ts"
import { sleep, timestamp, type Clock } from "../../pkg/clock/clock.ts"
import type { Random } from "../../pkg/clock/random.ts"
import { errorMessage } from "../../pkg/errors/error-message.ts"
import { crdsOf, type Chart } from "../../pkg/helm/chart.ts"
import { processDependencies } from "../../pkg/helm/dependencies.ts"
import { textOfFile } from "../../pkg/helm/load-chart.ts"
import { checkValues } from "../../pkg/helm/check-values.ts"
import { byKind, manifestText, sortManifests, type SortedManifests } from "../../pkg/helm/manifests.ts"
import { storedChart, type Release, type ReleaseStatus, type StoredHook } from "../../pkg/helm/release.ts"
import { renderChart, type Capabilities } from "../../pkg/helm/render.ts"
import { isInRange } from "../../pkg/helm/semver.ts"
import { plainValues } from "../../pkg/helm/functions/convert.ts"
import { ClusterObjects, isKept, isSame, objectsIn, type Wanted } from "./cluster-objects.ts"
import type { ResourceOf } from "./config.ts"
import { lookups } from "./lookups.ts"
import type { ReleaseDriverName } from "./release-drivers.ts"
import { hooksDigest, type KnownHooks } from "./release-hooks.ts"
import { storedObjects } from "./stored-objects.ts"
import { ReleaseStore } from "./release-store.ts"

export interface ReleaserParts {
  readonly client: Client
  readonly clock: Clock
  readonly random: Random
  readonly resourceOf: ResourceOf
  readonly capabilities: () => Capabilities
  readonly hooks: KnownHooks
  /** Ends waits for hooks. */
  readonly signal: AbortSignal
}

/** What is to be installed. */
export interface WantedRelease {
  readonly name: string
  readonly namespace: string
  readonly chart: Chart
  readonly values: Readonly<Record<string, unknown>>
  /** A digest of all that the release is made from. */
  readonly hash: string
  readonly takesOwnership: boolean
  readonly forcesConflicts: boolean
  /** How long hooks may take, in milliseconds. */
  readonly timeoutMs: number
}

interface Prepared extends SortedManifests {
  readonly objects: readonly Wanted[]
}

/** How long a definition may take until its kind is served, in milliseconds. */
const DEFINITION_MS = 60_000
const DEFINITION_LOOK_MS = 100

/** Installs, upgrades and removes one release, as Helm does. Source: helm.sh/helm/v3/pkg/action. */
export class Releaser {
  readonly #parts: ReleaserParts
  readonly #of: { readonly name: string; readonly namespace: string }
  readonly #objects: ClusterObjects
  readonly store: ReleaseStore

  constructor(
    parts: ReleaserParts,
    of: { readonly name: string; readonly namespace: string; readonly driver: ReleaseDriverName },
  ) {
    this.#parts = parts
    this.#of = of
    this.#objects = new ClusterObjects(parts, of)
    this.store = new ReleaseStore(parts.client, parts.clock, of)
  }

  async createNamespace(): Promise<void> {
    await this.#parts.client
      .create(Namespace, { metadata: { name: this.#of.namespace, labels: { name: this.#of.namespace } } })
      .catch((err: unknown) => {
        if (!isAlreadyExists(err)) throw err
      })
  }

  /** Installs a release, or upgrades the one that is there. @throws Error, after which the release has failed */
  async deploy(wanted: WantedRelease): Promise<void> {
    const revisions = await this.store.revisions()
    const [last] = revisions
    const before = revisions.find(({ status }) => status === "deployed") ?? last
    const version = (last?.version ?? 0) + 1
    const earlier = before === undefined ? undefined : await this.store.read(before.version)
    // What was never deployed is installed anew, over what there is of it.
    const isUpgrade = revisions.some(({ status }) => status === "deployed" || status === "superseded")
    const chart = processDependencies(wanted.chart, wanted.values)
    this.#checkVersion(chart)
    checkValues(chart, wanted.values)
    if (!isUpgrade) await this.#defineKinds(chart)
    const prepared = await this.#prepare(chart, wanted, version, isUpgrade)
    const hooks = prepared.hooks.map(storedHook)
    const verb = isUpgrade ? "upgrade" : "install"
    const now = timestamp(this.#parts.clock)
    const release = (status: ReleaseStatus, description: string): Release => ({
      name: wanted.name,
      namespace: wanted.namespace,
      version,
      info: {
        first_deployed: earlier?.info.first_deployed ?? now,
        last_deployed: now,
        deleted: "",
        description,
        status,
        ...(prepared.notes === "" ? {} : { notes: prepared.notes }),
      },
      chart: storedChart(chart),
      config: plainValues(wanted.values) as Readonly<Record<string, unknown>>,
      manifest: manifestText(prepared.manifests),
      hooks,
    })
    const old = earlier === undefined ? [] : await storedObjects(earlier, this.#of.namespace, this.#parts)
    if (!wanted.takesOwnership)
      for (const object of prepared.objects)
        if (!old.some((one) => isSame(one, object))) await this.#objects.checkOwner(object)
    await this.#parts.hooks.keep(hooksDigest(hooks))
    await this.store.write(release(`pending-${verb}`, `Preparing ${verb}`), wanted.hash)
    const deadline = this.#parts.clock.monotonic() + wanted.timeoutMs
    try {
      await this.#runHooks(hooks, `pre-${verb}`, deadline)
      for (const object of prepared.objects)
        await this.#objects.apply(object, earlier !== undefined || wanted.forcesConflicts)
      for (const object of old.toReversed())
        if (!prepared.objects.some((one) => isSame(one, object)) && !isKept(object))
          await this.#objects.deleteOwn(object)
      await this.#runHooks(hooks, `post-${verb}`, deadline)
    } catch (err) {
      // Work that was ended by a change, or by the end of the program, is begun again.
      if (this.#parts.signal.aborted) throw err
      const what = isUpgrade ? `Upgrade "${wanted.name}" failed` : `Release "${wanted.name}" failed`
      await this.store.write(release("failed", `${what}: ${errorMessage(err)}`), wanted.hash)
      await this.store.prune()
      throw err
    }
    for (const { version: each, status, hash = "" } of revisions)
      if (status === "deployed" || status.startsWith("pending-")) await this.store.supersede(each, hash)
    await this.store.write(release("deployed", isUpgrade ? "Upgrade complete" : "Install complete"), wanted.hash)
    await this.store.prune()
  }

  /** Removes all objects of a release, and its history. */
  async uninstall(timeoutMs: number): Promise<void> {
    const revisions = await this.store.revisions()
    const [last] = revisions
    if (last === undefined) return
    const release = await this.store.read(last.version)
    const deadline = this.#parts.clock.monotonic() + timeoutMs
    await this.#runStoredHooks(release, "pre-delete", deadline)
    const stored = await storedObjects(release, this.#of.namespace, this.#parts)
    const objects = stored.toSorted((a, b) => byKind(b.resource.kind, a.resource.kind))
    for (const object of objects) if (!isKept(object)) await this.#objects.deleteOwn(object)
    await this.#runStoredHooks(release, "post-delete", deadline)
    for (const { version } of revisions) await this.store.delete(version)
  }

  #checkVersion({ metadata: { kubeVersion } }: Chart): void {
    const { kubeVersion: own } = this.#parts.capabilities()
    if (kubeVersion !== undefined && kubeVersion !== "" && !isInRange(kubeVersion, own.replace(/\+.*$/, "")))
      throw new Error(`chart requires kubeVersion: ${kubeVersion} which is incompatible with Kubernetes ${own}`)
  }

  async #prepare(chart: Chart, wanted: WantedRelease, revision: number, isUpgrade: boolean): Promise<Prepared> {
    const { client, clock, random, resourceOf, capabilities } = this.#parts
    const rendered = await lookups(client, resourceOf, (lookup) =>
      renderChart({
        chart,
        values: wanted.values,
        release: { name: wanted.name, namespace: wanted.namespace, revision, isUpgrade },
        capabilities: capabilities(),
        random,
        now: () => clock.now(),
        monotonic: () => clock.monotonic(),
        lookup,
        pause: () => sleep(clock, 0),
      }),
    )
    const sorted = sortManifests(rendered, chart.metadata.name)
    const objects = sorted.manifests.flatMap(({ text }) => objectsIn(text, wanted.namespace, resourceOf))
    return { ...sorted, objects }
  }

  /** Creates the definitions in `crds/` that are not there, and waits until their kinds are served. */
  async #defineKinds(chart: Chart): Promise<void> {
    const { resourceOf, clock } = this.#parts
    const definitions = crdsOf(chart).flatMap(({ data }) => objectsIn(textOfFile(data), "", resourceOf))
    const made: Wanted[] = []
    for (const definition of definitions) {
      if ((await this.#objects.get(definition)) !== undefined) continue
      await this.#objects.applyAlone(definition)
      if (definition.resource.plural === CustomResourceDefinition.plural) made.push(definition)
    }
    const deadline = clock.monotonic() + DEFINITION_MS
    for (const { body } of made) {
      const { group, names, versions } = body["spec"] as CustomResourceDefinition["spec"]
      const served = versions.find((version) => version.served)?.name
      while (resourceOf(`${group}/${served}`, names.kind) === undefined && served !== undefined) {
        if (clock.monotonic() > deadline) throw new Error(`the kind ${names.kind} of ${group} is not served`)
        await sleep(clock, DEFINITION_LOOK_MS)
      }
    }
  }

  /** Runs hooks of a stored release, if k3ts has stored them. */
  async #runStoredHooks({ hooks = [] }: Release, event: string, deadline: number): Promise<void> {
    const known = this.#parts.hooks
    if (hooksDigest(hooks) === known.digest) await this.#runHooks(hooks, event, deadline)
    else if (Array.from(hooks).some(({ events }) => events?.includes(event))) known.refused(event)
  }

  /** Creates the hooks of an event one after the other, and waits for their Jobs and Pods. */
  async #runHooks(all: readonly StoredHook[], event: string, deadline: number): Promise<void> {
    const hooks = all
      .filter(({ events }) => events.includes(event))
      .toSorted((a, b) => (a.weight ?? 0) - (b.weight ?? 0) || byKind(a.kind, b.kind))
    const delivered: [StoredHook, readonly Wanted[]][] = []
    for (const hook of hooks) {
      const objects = objectsIn(hook.manifest, this.#of.namespace, this.#parts.resourceOf)
      delivered.push([hook, objects])
      const { delete_policies: policies = [] } = hook
      const isPolicy = (policy: string) => policies.includes(policy)
      if (policies.length === 0 || isPolicy("before-hook-creation"))
        for (const object of objects) {
          await this.#objects.delete(object)
          await this.#objects.gone(object, deadline)
        }
      try {
        for (const object of objects) await this.#objects.applyAlone(object)
        for (const object of objects) await this.#objects.finished(object, deadline)
      } catch (err) {
        if (isPolicy("hook-failed")) for (const object of objects) await this.#objects.delete(object)
        throw new Error(`failed ${event}: ${errorMessage(err)}`, { cause: err })
      }
    }
    for (const [{ delete_policies: policies = [] }, objects] of delivered)
      if (policies.includes("hook-succeeded")) for (const object of objects) await this.#objects.delete(object)
  }
}

const storedHook = ({
  name,
  kind,
  path,
  text,
  events,
  weight,
  deletePolicies,
}: SortedManifests["hooks"][number]): StoredHook => ({
  name,
  kind,
  path,
  manifest: text,
  events,
  ...(weight === 0 ? {} : { weight }),
  ...(deletePolicies.length === 0 ? {} : { delete_policies: deletePolicies }),
})
