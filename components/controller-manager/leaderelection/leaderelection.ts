import { Lease } from "../../../pkg/api/coordination/v1/lease.ts"
import { OLDEST_EMULATION_VERSION } from "../../../pkg/api/coordination/v1/strategy.ts"
import { LeaseCandidate } from "../../../pkg/api/coordination/v1beta1/leasecandidate.ts"
import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { deepEqual } from "../../../pkg/apimachinery/json/equal.ts"
import { splitKey, type Index, type Key } from "../../../pkg/client/informer.ts"
import { microTimestamp } from "../../../pkg/clock/clock.ts"
import { smallest } from "../../../pkg/lists/extremes.ts"
import { defineController, watching, type ReconcileContext } from "../../../pkg/controller/controller.ts"
import { millis, oldestVersion, strategyOf, VALID_MS, validUntil } from "./candidates.ts"

/** How long candidates have to answer, and how long an answer counts. Source: electionDuration. */
const ELECTION_MS = 5000
/** Source: defaultLeaseDurationSeconds. */
const LEASE_SECONDS = 5

const leaseOf = ({ metadata, spec }: LeaseCandidate): Key => `${metadata.namespace}/${spec.leaseName}`
const candidatesByLease: Index<LeaseCandidate> = { name: "lease", of: (candidate) => [leaseOf(candidate)] }

/**
 * Elects the holders of leases that have candidates. Before an election every candidate is asked whether it is there,
 * by its pingTime; those that answer within five seconds are eligible. A holder that is not the best one is told by
 * preferredHolder to give the lease up. Source: pkg/controlplane/controller/leaderelection. Differs from upstream:
 * instead of every five seconds a lease is looked at when something may have to happen.
 */
export const leaderElection = defineController<Lease>({
  name: "leader-election-controller",
  reconciles: Lease,
  watches: [
    watching(LeaseCandidate, (candidate, _context, old) => [
      leaseOf(candidate),
      ...(old === undefined ? [] : [leaseOf(old)]),
    ]),
  ],
  async reconcile(key, context) {
    const { informers, clock } = context
    const now = clock.now()
    const candidates = informers
      .of(LeaseCandidate)
      .by(candidatesByLease, key)
      .filter((candidate) => validUntil(candidate) > now)
    if (candidates.length === 0) return
    const lease = informers.of(Lease).get(key)
    if (!isElectionNeeded(candidates, lease, now)) return waitUntil(nextLook(candidates, lease), now)
    const waitsUntil = await ask(candidates, context)
    if (waitsUntil !== undefined) return waitUntil(waitsUntil, now)
    const there = candidates.filter(({ spec }) => (millis(spec.renewTime) ?? 0) + ELECTION_MS > now)
    if (there.length === 0) throw new Error("no available candidates")
    const strategy = strategyOf(there)
    const elected = strategy === OLDEST_EMULATION_VERSION ? oldestVersion(there)?.metadata.name : undefined
    await elect(key, lease, strategy, elected, context)
    return waitUntil(now + LEASE_SECONDS * 1000, now)
  },
})

const waitUntil = (time: number, now: number) => ({ requeueAfter: Math.max(1, time - now) })

const expiryOf = ({ spec }: Lease): number =>
  spec.renewTime === undefined || spec.leaseDurationSeconds === undefined
    ? -Infinity
    : millis(spec.renewTime)! + spec.leaseDurationSeconds * 1000

/** When a lease that needs no election may need one without that anything else happens. */
function nextLook(candidates: readonly LeaseCandidate[], lease: Lease | undefined): number {
  const renewals = candidates.map((candidate) => validUntil(candidate) - VALID_MS / 2)
  return Math.min(smallest(renewals), lease === undefined ? Infinity : expiryOf(lease)) + 1
}

function isElectionNeeded(candidates: readonly LeaseCandidate[], lease: Lease | undefined, now: number): boolean {
  if (lease === undefined || expiryOf(lease) < now || !lease.spec.holderIdentity) return true
  // Candidates are asked now and then, so that those which are there are not taken for gone.
  if (candidates.some((candidate) => validUntil(candidate) - VALID_MS / 2 < now)) return true
  if (strategyOf(candidates) !== OLDEST_EMULATION_VERSION) return false
  const best = oldestVersion(candidates)
  return best !== undefined && best.metadata.name !== lease.spec.holderIdentity
}

/** Asks the candidates that have not answered lately. Returns until when their answers may come; undefined for none. */
async function ask(
  candidates: readonly LeaseCandidate[],
  { client, clock }: ReconcileContext,
): Promise<number | undefined> {
  const now = clock.now()
  let until: number | undefined
  for (const candidate of candidates) {
    const [ping, renewed] = [millis(candidate.spec.pingTime), millis(candidate.spec.renewTime) ?? -Infinity]
    const hasAnswered = ping === undefined || renewed >= ping
    if (!hasAnswered && ping + ELECTION_MS > now) until = Math.max(until ?? 0, ping + ELECTION_MS + 1)
    else if (hasAnswered && renewed + ELECTION_MS <= now && (ping === undefined || ping + ELECTION_MS < now)) {
      const spec = { ...candidate.spec, pingTime: microTimestamp(clock) }
      await client.update(LeaseCandidate, { ...candidate, spec }).catch((err: unknown) => {
        if (!isNotFound(err)) throw err
      })
      until = Math.max(until ?? 0, now + ELECTION_MS + 1)
    }
  }
  return until
}

async function elect(
  key: Key,
  lease: Lease | undefined,
  strategy: string,
  elected: string | undefined,
  { client, clock }: ReconcileContext,
): Promise<void> {
  const fresh = { leaseDurationSeconds: LEASE_SECONDS, renewTime: microTimestamp(clock) }
  if (lease === undefined) {
    const spec = { strategy, ...fresh, ...(elected === undefined ? {} : { holderIdentity: elected }) }
    await client.create(Lease, { metadata: splitKey(key), spec })
    return
  }
  const { acquireTime: _acquired, preferredHolder: _preferred, ...kept } = lease.spec
  const holder = lease.spec.holderIdentity ?? ""
  const isFree = holder === "" || expiryOf(lease) < clock.now()
  const spec =
    elected === undefined || elected === holder
      ? { ...lease.spec, strategy }
      : isFree
        ? { ...kept, ...fresh, strategy, holderIdentity: elected }
        : { ...lease.spec, strategy, preferredHolder: elected }
  if (!deepEqual(spec, lease.spec)) await client.update(Lease, { ...lease, spec })
}
