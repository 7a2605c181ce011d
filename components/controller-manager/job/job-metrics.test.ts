import { expect, test } from "bun:test"
import type { Job } from "../../../pkg/api/batch/v1/job.ts"
import { Registry } from "../../../pkg/metrics/registry.ts"
import { JobMetrics } from "./job-metrics.ts"

const job = (status: object): Job => ({ spec: { completionMode: "Indexed" }, status }) as unknown as Job

test("pods and the end of a Job are counted once, by what each write of the status adds", () => {
  // given a Job that fails at last
  const registry = new Registry()
  const metrics = new JobMetrics(registry)
  const end = { type: "Failed", status: "True", reason: "BackoffLimitExceeded" }
  const statuses = [
    {},
    { succeeded: 2 },
    { succeeded: 2, failed: 1, conditions: [{ ...end, type: "FailureTarget" }] },
    { succeeded: 3, failed: 1, conditions: [end] },
    { succeeded: 3, failed: 1, conditions: [end], ready: 0 },
  ]
  // when
  for (const [i, status] of statuses.entries()) if (i > 0) metrics.written(job(statuses[i - 1]!), job(status))
  metrics.synced(job({}), "success", "pods_created", 20)
  // then
  const lines = registry.text().split("\n")
  expect(lines.filter((line) => /^job_controller_\w+_total/.test(line))).toEqual([
    'job_controller_job_pods_finished_total{completion_mode="Indexed",result="succeeded"} 3',
    'job_controller_job_pods_finished_total{completion_mode="Indexed",result="failed"} 1',
    'job_controller_job_syncs_total{completion_mode="Indexed",result="success",action="pods_created"} 1',
    'job_controller_jobs_finished_total{completion_mode="Indexed",result="failed",reason="BackoffLimitExceeded"} 1',
  ])
})
