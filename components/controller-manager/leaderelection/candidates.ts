import type { LeaseCandidate } from "../../../pkg/api/coordination/v1beta1/leasecandidate.ts"
import { parseTime } from "../../../pkg/apimachinery/scalars/time.ts"
import { compareVersions, parseVersion, type SemanticVersion } from "../../../pkg/semver/semver.ts"

/** How long a candidate counts that has not said that it is there. Source: leaseCandidateValidDuration. */
export const VALID_MS = 30 * 60_000

/** Returns the milliseconds of a time; undefined for none. */
export const millis = (time: string | undefined): number | undefined =>
  time === undefined ? undefined : parseTime(time)

/** Returns until when a candidate counts; one that has never said that it is there does not. */
export const validUntil = ({ spec }: LeaseCandidate): number => (millis(spec.renewTime) ?? -Infinity) + VALID_MS

const ZERO: SemanticVersion = { numbers: [0n, 0n, 0n], identifiers: [] }
const emulated = ({ spec }: LeaseCandidate) => parseVersion(spec.emulationVersion ?? "") ?? ZERO
const binary = ({ spec }: LeaseCandidate) => parseVersion(spec.binaryVersion) ?? ZERO

/**
 * Returns the candidate that behaves as the oldest version, of these the one whose program is the oldest, of these the
 * one that was there first; undefined where none has versions. Source: pickBestLeaderOldestEmulationVersion.
 */
export const oldestVersion = (candidates: readonly LeaseCandidate[]): LeaseCandidate | undefined =>
  candidates
    .filter(({ spec }) => parseVersion(spec.emulationVersion ?? "") !== undefined && parseVersion(spec.binaryVersion))
    .toSorted(
      (a, b) =>
        compareVersions(emulated(a), emulated(b)) ||
        compareVersions(binary(a), binary(b)) ||
        ((a.metadata.creationTimestamp ?? "") > (b.metadata.creationTimestamp ?? "") ? 1 : -1),
    )[0]

/**
 * Returns the strategy of the candidate with the newest program. Source: pickBestStrategy. @throws Error where two of
 * the newest want different ones
 */
export function strategyOf(candidates: readonly LeaseCandidate[]): string {
  const newest = candidates.reduce((best, one) => (compareVersions(binary(best), binary(one)) < 0 ? one : best))
  const other = candidates.find(
    (one) => compareVersions(binary(one), binary(newest)) === 0 && one.spec.strategy !== newest.spec.strategy,
  )
  if (other === undefined) return newest.spec.strategy ?? ""
  throw new Error(
    `candidates ${JSON.stringify(newest.metadata.name)}, ${JSON.stringify(other.metadata.name)} at same binary version ` +
      `but received differing strategies ${newest.spec.strategy}, ${other.spec.strategy}`,
  )
}
