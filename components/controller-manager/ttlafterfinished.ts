import { isConflict, isNotFound } from "../../pkg/apimachinery/errors.ts"
import { Job } from "../../pkg/api/batch/v1/job.ts"
import { defineController } from "../../pkg/controller/controller.ts"

/**
 * Deletes finished Jobs with their pods, ttlSecondsAfterFinished after their end. Source:
 * pkg/controller/ttlafterfinished.
 */
export const ttlAfterFinishedController = defineController<Job>({
  name: "ttl-after-finished-controller",
  reconciles: Job,
  concerns: ({ spec }) => spec.ttlSecondsAfterFinished !== undefined,
  async reconcile(key, { informers, client, clock }) {
    const job = informers.of(Job).get(key)
    const ttl = job?.spec.ttlSecondsAfterFinished
    if (job === undefined || ttl === undefined || job.metadata.deletionTimestamp !== undefined) return
    const end = job.status.conditions?.find(
      ({ type, status }) => (type === "Complete" || type === "Failed") && status === "True",
    )?.lastTransitionTime
    if (!end) return
    const left = Date.parse(end) + ttl * 1000 - clock.now()
    if (left > 0) return { requeueAfter: left }
    const { uid, resourceVersion } = job.metadata
    try {
      // With the known resourceVersion as a precondition, so that a Job with a TTL that was just increased is not
      // deleted.
      await client.delete(Job, job.metadata, {
        propagationPolicy: "Foreground",
        preconditions: {
          ...(uid === undefined ? {} : { uid }),
          ...(resourceVersion === undefined ? {} : { resourceVersion }),
        },
      })
    } catch (err) {
      if (!isNotFound(err) && !isConflict(err)) throw err // a changed Job is enqueued again by its event
    }
  },
})
