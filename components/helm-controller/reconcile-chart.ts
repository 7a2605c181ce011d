import { createHash } from "node:crypto"
import { Secret } from "../../pkg/api/core/v1/secret/secret.ts"
import { isNotFound } from "../../pkg/apimachinery/errors.ts"
import { deepEqual } from "../../pkg/apimachinery/json/equal.ts"
import type { Key } from "../../pkg/client/informer.ts"
import type { ReconcileContext } from "../../pkg/controller/controller.ts"
import { errorMessage } from "../../pkg/errors/error-message.ts"
import { HelmChart, HelmChartConfig } from "../../pkg/k3s-kinds/helmchart.ts"
import { goValues, type Dict } from "../../pkg/helm/functions/convert.ts"
import { durationOf } from "../../pkg/helm/functions/durations.ts"
import { loadArchive } from "../../pkg/helm/load-chart.ts"
import { setValue, typedValue } from "../../pkg/helm/set-values.ts"
import { overlay } from "../../pkg/helm/values.ts"
import { parseYaml } from "../../pkg/yaml/yaml.ts"
import { packedChart } from "./chart-source.ts"
import type { RunningConfig } from "./config.ts"
import { HOOKS, type KnownHooks } from "./release-hooks.ts"
import { Releaser } from "./releaser.ts"

/** The name that k3s's controller gives its finalizer, so that objects can move between the two. */
const FINALIZER = "wrangler.cattle.io/on-helm-chart-remove"
const UNMANAGED = "helmcharts.helm.cattle.io/unmanaged"
const MANAGED_BY = "helmcharts.cattle.io/managed-by"
/** The name of k3s's controller. */
const OURS = "helm-controller"

/** How long hooks may take. Source: `helm --timeout`. */
const TIMEOUT_MS = 300_000
/** After this time the Secrets that a chart's values are in are read again. */
const SECRETS_MS = 60_000

/** Makes the release of one HelmChart what the HelmChart says. */
export async function reconcileChart(
  key: Key,
  context: ReconcileContext,
  config: RunningConfig,
): Promise<void | { readonly requeueAfter: number; readonly kind: "upkeep" }> {
  const { client, informers } = context
  const chart = informers.of(HelmChart).get(key)
  if (chart === undefined || !isOurs(chart)) return
  const { metadata, spec } = chart
  const name = metadata.name!
  const namespace = spec.targetNamespace || metadata.namespace!
  using turn = untilChanged(chart, context, config.signal)
  const releaser = new Releaser(
    {
      signal: turn.signal,
      client,
      clock: context.clock,
      random: context.random,
      resourceOf: config.resourceOf,
      capabilities: () => ({ kubeVersion: config.kubeVersion, apiVersions: config.apiVersions() }),
      hooks: knownHooks(chart, context),
    },
    { name, namespace, driver: spec.driver ?? "secret" },
  )
  const timeoutMs = (durationOf(spec.timeout ?? "") || TIMEOUT_MS / 1000) * 1000
  if (metadata.deletionTimestamp !== undefined) {
    await remove(chart, releaser, timeoutMs, context)
    return
  }
  if (metadata.finalizers?.includes(FINALIZER) !== true) {
    await client.update(HelmChart, {
      ...chart,
      metadata: { ...metadata, finalizers: [...(metadata.finalizers ?? []), FINALIZER] },
    })
    return
  }
  try {
    if ((await install(chart, releaser, { name, namespace, timeoutMs }, context)) === "failed before") return
  } catch (err) {
    // The change that has ended the work begins it again.
    if (turn.signal.aborted) return
    const message = errorMessage(err)
    context.events.event(chart, "Warning", "ChartFailed", message)
    await tell(chart, { status: "True", reason: "Chart failed", message }, context)
    if (policyOf(chart, context) === "abort") return
    throw err
  }
  await tell(chart, { status: "False" }, context)
  return readsSecrets(chart, context) ? { requeueAfter: SECRETS_MS, kind: "upkeep" } : undefined
}

/** The hooks of a release are known by an annotation of its HelmChart. */
const knownHooks = (chart: HelmChart, { client, events }: ReconcileContext): KnownHooks => {
  const known = chart.metadata.annotations?.[HOOKS]
  return {
    digest: known,
    async keep(digest) {
      if (digest === known) return
      const body = { metadata: { annotations: { [HOOKS]: digest } } }
      await client.patch(HelmChart, chart.metadata, { type: "merge", body })
    },
    refused: (event) =>
      events.event(
        chart,
        "Warning",
        "HooksNotRun",
        `The ${event} hooks of the stored release are not those that k3ts has stored, and are not run`,
      ),
  }
}

/** Returns a signal that aborts when the HelmChart has changed or is to be deleted, or the controller stops. */
function untilChanged({ metadata }: HelmChart, { informers }: ReconcileContext, stopping: AbortSignal) {
  const changed = new AbortController()
  const look = ({ metadata: now }: HelmChart) => {
    if (now.uid !== metadata.uid) return
    if (now.generation !== metadata.generation || now.deletionTimestamp !== metadata.deletionTimestamp)
      changed.abort(new Error("the HelmChart has changed"))
  }
  const off = informers.of(HelmChart).on({ updated: look, deleted: () => undefined })
  return { signal: AbortSignal.any([changed.signal, stopping]), [Symbol.dispose]: off }
}

function isOurs({ metadata: { annotations = {} }, spec }: HelmChart): boolean {
  const { [MANAGED_BY]: by } = annotations
  const isNamed = (spec.chart ?? "") !== "" || (spec.chartContent ?? "") !== ""
  return isNamed && annotations[UNMANAGED] === undefined && (by === undefined || by === OURS)
}

const configOf = ({ metadata: { namespace, name } }: HelmChart, { informers }: ReconcileContext) =>
  informers.of(HelmChartConfig).get(`${namespace}/${name}`)

const policyOf = (chart: HelmChart, context: ReconcileContext) =>
  configOf(chart, context)?.spec.failurePolicy ?? chart.spec.failurePolicy

const secretsOf = (chart: HelmChart, context: ReconcileContext) =>
  [chart, configOf(chart, context)].map((one) => one?.spec.valuesSecrets ?? [])

const readsSecrets = (chart: HelmChart, context: ReconcileContext): boolean =>
  secretsOf(chart, context)
    .flat()
    .some(({ ignoreUpdates }) => ignoreUpdates !== true)

async function install(
  chart: HelmChart,
  releaser: Releaser,
  of: { readonly name: string; readonly namespace: string; readonly timeoutMs: number },
  context: ReconcileContext,
): Promise<"deployed" | "failed before"> {
  const { spec } = chart
  if (spec.helmVersion !== undefined && spec.helmVersion !== "" && spec.helmVersion !== "v3")
    throw new Error("Only Helm v3 charts are supported")
  const values = await valuesOf(chart, context)
  const config = configOf(chart, context)?.spec
  const { values: _values, valuesContent: _content, valuesSecrets: _secrets, driver: _driver, ...rest } = spec
  // A label has 63 characters at most.
  const hash = createHash("sha256")
    .update(JSON.stringify([rest, values.hashed]))
    .digest("hex")
    .slice(0, 63)
  const [last] = await releaser.store.revisions()
  if (last?.status === "deployed" && last.hash === hash) return "deployed"
  const policy = policyOf(chart, context)
  if (last?.status === "failed" && last.hash === hash && policy === "abort") return "failed before"
  const packed = await packedChart(context.client, chart, context.clock)
  if (last?.status === "failed" && policy === "reinstall") await releaser.uninstall(of.timeoutMs)
  if (spec.createNamespace === true) await releaser.createNamespace()
  context.events.event(chart, "Normal", "ApplyChart", `Applying HelmChart from ${sourceOf(chart)}`)
  await releaser.deploy({
    ...of,
    chart: loadArchive(packed),
    values: values.all,
    hash,
    takesOwnership: spec.takeOwnership === true,
    forcesConflicts: config?.forceConflicts ?? spec.forceConflicts ?? false,
  })
  return "deployed"
}

const sourceOf = ({ spec: { chartContent = "", chart = "", repo = "" } }: HelmChart): string =>
  chartContent === "" ? [repo, chart].filter((part) => part !== "").join("/") : "inline content"

/** Returns the values in the order in which they count: those of the HelmChart, of its HelmChartConfig, and `set`. */
async function valuesOf(
  chart: HelmChart,
  context: ReconcileContext,
): Promise<{ readonly all: Dict; readonly hashed: unknown }> {
  const all: Dict = {}
  const hashed: unknown[] = []
  const add = (value: unknown) => {
    if (value === null || value === undefined) return
    if (typeof value !== "object" || Array.isArray(value)) throw new Error("the values are no map")
    overlay(all, goValues(value) as Dict)
  }
  for (const one of [chart, configOf(chart, context)]) {
    if (one === undefined) continue
    const { valuesContent = "", values, valuesSecrets = [] } = one.spec
    if (valuesContent !== "") add(parseYaml(valuesContent).value)
    add(values)
    hashed.push([valuesContent, values])
    for (const { name = "", keys = [], ignoreUpdates = false } of valuesSecrets) {
      if (keys.length === 0) continue
      const data = await secretData(name, ignoreUpdates, chart, context)
      if (!ignoreUpdates) hashed.push(keys.map((key) => data[key]))
      for (const key of keys) add(parseYaml(Buffer.from(data[key] ?? "", "base64").toString("utf8")).value)
    }
  }
  for (const [path, value] of Object.entries(chart.spec.set ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const text = String(value)
    const isTyped = typeof value === "number" || ["true", "false", "null"].includes(text)
    setValue(all, path, isTyped ? typedValue(text) : text)
  }
  return { all, hashed }
}

async function secretData(
  name: string,
  isOptional: boolean,
  { metadata: { namespace } }: HelmChart,
  { client }: ReconcileContext,
): Promise<Readonly<Record<string, string>>> {
  try {
    return (await client.get(Secret, { namespace, name })).data ?? {}
  } catch (err) {
    if (isOptional && isNotFound(err)) return {}
    throw err
  }
}

async function remove(
  chart: HelmChart,
  releaser: Releaser,
  timeoutMs: number,
  { client, events }: ReconcileContext,
): Promise<void> {
  const { metadata } = chart
  if (metadata.finalizers?.includes(FINALIZER) !== true) return
  events.event(chart, "Normal", "RemoveChart", `Uninstalling HelmChart ${metadata.name}`)
  await releaser.uninstall(timeoutMs)
  await client.update(HelmChart, {
    ...chart,
    metadata: { ...metadata, finalizers: metadata.finalizers.filter((one) => one !== FINALIZER) },
  })
}

/** Writes the condition Failed of a HelmChart, if it has changed. */
async function tell(
  chart: HelmChart,
  failed: { readonly status: "True" | "False"; readonly reason?: string; readonly message?: string },
  { client }: ReconcileContext,
): Promise<void> {
  const conditions = [
    { type: "JobCreated", status: "False", reason: "No Job", message: "The chart is installed without a Job" },
    { type: "Failed", ...failed },
  ]
  if (deepEqual(chart.status?.conditions, conditions)) return
  await client.patch(
    HelmChart,
    chart.metadata,
    { type: "merge", body: { status: { conditions } } },
    { subresource: "status" },
  )
}
