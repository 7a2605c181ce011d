import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import {
  dayOf,
  INVALID_SINCE,
  LAST_USED,
  SERVICE_ACCOUNT_NAME,
  SERVICE_ACCOUNT_TOKEN,
  SERVICE_ACCOUNT_UID,
  startOfDay,
  TRACKED_SINCE,
  TRACKING,
} from "../../../pkg/api/core/v1/secret/legacy-tokens.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { usesSecret } from "../../../pkg/api/core/v1/pod/references.ts"
import { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import { ServiceAccount } from "../../../pkg/api/core/v1/serviceaccount.ts"
import { isConflict, isNotFound } from "../../../pkg/apimachinery/errors.ts"
import type { Informers } from "../../../pkg/client/informer.ts"
import { defineController, type ReconcileContext } from "../../../pkg/controller/controller.ts"

const DAY_MS = 24 * 3_600_000
/**
 * How long a token may be unused before it is marked, and then until it is deleted. Source:
 * LegacySATokenCleaner.CleanUpPeriod.
 */
const UNUSED_DAYS = 365

/**
 * Searches once a day for unused tokens that the cluster created for service accounts, as releases before 1.24 did. An
 * unused token is marked as invalid, and deleted after another year. Source:
 * pkg/controller/serviceaccount/legacy_serviceaccount_token_cleaner.go.
 */
export const legacyTokenCleaner = defineController<ConfigMap>({
  name: "legacy-serviceaccount-token-cleaner-controller",
  reconciles: ConfigMap,
  concerns: ({ metadata }) => metadata.name === TRACKING.name && metadata.namespace === TRACKING.namespace,
  async reconcile(key, context) {
    const tracking = context.informers.of(ConfigMap).get(key)
    if (tracking === undefined) return
    const since = startOfDay(tracking.data?.[TRACKED_SINCE])
    const again = { requeueAfter: DAY_MS, kind: "upkeep" } as const
    // The first day of tracking is not a whole day.
    if (since === undefined || context.clock.now() < since + (1 + UNUSED_DAYS) * DAY_MS) return again
    for (const secret of context.informers.of(Secret).list())
      if (isUnused(secret, context)) await discard(secret, context)
    return again
  },
})

function isUnused({ type, metadata }: Secret, { clock, informers }: ReconcileContext): boolean {
  if (type !== SERVICE_ACCOUNT_TOKEN || metadata.deletionTimestamp !== undefined) return false
  if (Date.parse(metadata.creationTimestamp ?? "") >= clock.now() - UNUSED_DAYS * DAY_MS) return false
  const lastUsed = metadata.labels?.[LAST_USED]
  if (lastUsed !== undefined && (startOfDay(lastUsed) === undefined || lastUsed >= dayOf(clock, -UNUSED_DAYS)))
    return false
  return isGenerated(metadata, informers) && !isMounted(metadata, informers)
}

/** Whether the cluster created a token Secret: the service account lists it, unlike one that a user created. */
function isGenerated({ namespace, name, annotations = {} }: Secret["metadata"], informers: Informers): boolean {
  const account = informers.of(ServiceAccount).get(`${namespace}/${annotations[SERVICE_ACCOUNT_NAME]}`)
  const uid = annotations[SERVICE_ACCOUNT_UID] ?? ""
  return (
    account !== undefined &&
    (uid === "" || uid === account.metadata.uid) &&
    account.secrets?.some((secret) => secret.name === name) === true
  )
}

const isMounted = ({ namespace, name = "" }: Secret["metadata"], informers: Informers): boolean =>
  informers
    .of(Pod)
    .list(namespace)
    .some((pod) => usesSecret(pod, name))

async function discard({ metadata }: Secret, { client, clock, log }: ReconcileContext): Promise<void> {
  const { uid, resourceVersion } = metadata
  const invalidSince = metadata.labels?.[INVALID_SINCE]
  const secret = `${metadata.namespace}/${metadata.name}`
  try {
    if (startOfDay(invalidSince) === undefined) {
      log.info("Marking an unused service account token as invalid", { secret })
      const labels = { [INVALID_SINCE]: dayOf(clock) }
      await client.patch(Secret, metadata, { type: "merge", body: { metadata: { uid, labels } } })
    } else if (invalidSince! < dayOf(clock, -UNUSED_DAYS)) {
      log.info("Deleting an unused service account token", { secret, invalidSince })
      await client.delete(Secret, metadata, resourceVersion === undefined ? {} : { preconditions: { resourceVersion } })
    }
  } catch (err) {
    if (!isNotFound(err) && !isConflict(err)) throw err
  }
}
