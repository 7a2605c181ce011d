import type { ObjectMeta } from "../../../apimachinery/meta.ts"
import type { JobSpec } from "./jobspec.ts"

interface JobView {
  readonly metadata: ObjectMeta
  readonly spec: JobSpec
}
const NO_LIMIT = 2 ** 31 - 1
const UID_LABEL = "batch.kubernetes.io/controller-uid"

/**
 * Sets the defaults of jobs that the templates of cron jobs do not get. Source: SetDefaults_Job in
 * pkg/apis/batch/v1/defaults.go.
 */
export function jobDefaults<J extends JobView>(job: J): J {
  const { metadata, spec } = job
  const labels = spec.template?.metadata.labels
  const needsLabels = labels !== undefined && Object.keys(metadata.labels ?? {}).length === 0
  const full =
    spec.parallelism !== undefined &&
    spec.backoffLimit !== undefined &&
    spec.completionMode !== undefined &&
    spec.suspend !== undefined &&
    spec.manualSelector !== undefined &&
    spec.podReplacementPolicy !== undefined
  if (full && !needsLabels) return job
  const once = spec.completions === undefined && spec.parallelism === undefined
  return {
    ...job,
    metadata: needsLabels ? { ...metadata, labels } : metadata,
    spec: {
      ...spec,
      ...(once ? { completions: 1 } : {}),
      parallelism: spec.parallelism ?? 1,
      // With a limit for each index, failures are counted per index and must not stop the job as a whole.
      backoffLimit: spec.backoffLimit ?? (spec.backoffLimitPerIndex === undefined ? 6 : NO_LIMIT),
      completionMode: spec.completionMode ?? "NonIndexed",
      suspend: spec.suspend ?? false,
      manualSelector: spec.manualSelector ?? false,
      podReplacementPolicy:
        spec.podReplacementPolicy ?? (spec.podFailurePolicy === undefined ? "TerminatingOrFailed" : "Failed"),
    },
  }
}

/**
 * Returns the job with the labels that connect pods to it, and a selector for them, unless the user manages the
 * selector. The labels without a prefix are older, and tools still read them. Source: generateSelector in
 * pkg/registry/batch/job/strategy.go.
 */
export function withGeneratedSelector<J extends JobView>(job: J): J {
  const { metadata, spec } = job
  const { name = "", uid = "" } = metadata
  if (spec.manualSelector === true || spec.template === undefined) return job
  const { template, selector } = spec
  const labels = sorted({
    [UID_LABEL]: uid,
    "batch.kubernetes.io/job-name": name,
    "controller-uid": uid,
    "job-name": name,
    ...template.metadata.labels,
  })
  // A job without labels of its own gets those of its template, including the generated ones.
  const { labels: own = {} } = metadata
  const shared = own === template.metadata.labels || Object.keys(own).length === 0
  return {
    ...job,
    metadata: shared ? { ...metadata, labels } : metadata,
    spec: {
      ...spec,
      selector: { ...selector, matchLabels: sorted({ [UID_LABEL]: uid, ...selector?.matchLabels }) },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  }
}

/** Returns labels in the order in which messages show them. */
const sorted = (labels: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)))
