import type { ObjectMeta } from "../../../apimachinery/meta.ts"
import { templateWarnings } from "../../core/v1/podtemplate/template-warnings.ts"
import type { JobSpec } from "./jobspec.ts"

/** Source: pkg/api/job/warnings.go, pkg/registry/batch/cronjob/strategy.go. */
const MANY_COMPLETIONS = 100_000
const MUCH_PARALLELISM = 10_000

interface Owner {
  readonly metadata: ObjectMeta
}

/** Returns warnings about the spec of a job. `owner` is the job itself or its CronJob. */
export function jobSpecWarnings(owner: Owner, old: Owner | undefined, spec: JobSpec, path: string): readonly string[] {
  if (old !== undefined && old.metadata.generation === owner.metadata.generation) return []
  const { completionMode, completions = 0, parallelism = 0, template } = spec
  const isMany = completionMode === "Indexed" && completions > MANY_COMPLETIONS && parallelism > MUCH_PARALLELISM
  return [
    ...(isMany
      ? [
          `${path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher ` +
            "than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes " +
            "fail",
        ]
      : []),
    ...templateWarnings(owner, old, template, `${path}.template`),
  ]
}

/** The warning about a time zone in a schedule. The path in it is upstream's. */
export const ZONE_IN_SCHEDULE =
  "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see " +
  "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
