import type { Cause } from "../../../apimachinery/errors.ts"
import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { invalidValue, required } from "../../../apimachinery/validation/field-errors.ts"
import { isConfigMapKey } from "../../../apimachinery/validation/names.ts"
import { pushAll } from "../../../lists/push-all.ts"
import { compareVersions, parseVersion, type SemanticVersion } from "../../../semver/semver.ts"
import { OLDEST_EMULATION_VERSION, strategyFaults } from "../v1/strategy.ts"

/**
 * Source: k8s.io/api coordination/v1beta1/types.go, pkg/registry/coordination/leasecandidate/strategy.go,
 * pkg/apis/coordination/validation. Served only where `--runtime-config` and the gate CoordinatedLeaderElection say so.
 */

export const LeaseCandidateSpec = message("coordination.v1beta1.LeaseCandidateSpec", "Who may hold which lease.", {
  leaseName: f.string(1, "Name of the lease, in the same namespace. It cannot change.").required().ownRule(),
  pingTime: f.microTime(2, "When the candidate was last asked whether it is there."),
  renewTime: f.microTime(3, "When the candidate last said that it is there."),
  binaryVersion: f.string(4, "Version of the program.").required().ownRule(),
  emulationVersion: f.string(5, "Version that the program behaves as."),
  strategy: f.string(6, "How the holder is chosen.").ownRule(),
})
export interface LeaseCandidateSpec extends ObjectOf<typeof LeaseCandidateSpec> {}

const fields = {
  spec: f.message(2, LeaseCandidateSpec, "Who may hold which lease.").always().ownRule(),
}
export interface LeaseCandidate extends ObjectFor<typeof fields> {}

export const LeaseCandidate = defineResource(
  {
    group: "coordination.k8s.io",
    version: "v1beta1",
    kind: "LeaseCandidate",
    plural: "leasecandidates",
    scope: "Namespaced",
    offByDefault: true,
    doc: "A candidate for a lease, of which the best one is elected.",
    upstreamChecks: { wholeMetadata: 1 },
    validateName: isConfigMapKey,
    allowCreateOnUpdate: true,
    allowUnconditionalUpdate: false,
    columns: [
      { name: "LeaseName", type: "string", doc: "Name of the lease.", value: ({ spec }) => spec.leaseName },
      {
        name: "BinaryVersion",
        type: "string",
        doc: "Version of the program.",
        value: ({ spec }) => spec.binaryVersion,
      },
      {
        name: "EmulationVersion",
        type: "string",
        doc: "Version that the program behaves as.",
        value: ({ spec }) => spec.emulationVersion ?? "",
      },
    ],
    deprecated: "coordination.k8s.io/v1beta1 LeaseCandidate is deprecated in v1.36+, unavailable in v1.39+",
    validateSpec: ({ spec }) => candidateFaults(spec),
    validateUpdate: ({ spec: { leaseName } }, old) =>
      leaseName === old.spec.leaseName ? [] : [invalidValue("spec.leaseName", leaseName, "field is immutable")],
  },
  fields,
)

const ZERO: SemanticVersion = { numbers: [0n, 0n, 0n], identifiers: [] }
const NO_VERSION = "must be a valid semantic version"

function candidateFaults(spec: LeaseCandidateSpec): readonly Cause[] {
  const { leaseName, binaryVersion, emulationVersion = "", strategy = "" } = spec
  const causes: Cause[] = []
  if (leaseName === "") causes.push(required("spec.leaseName"))
  // A text that is no version counts as version 0.
  const emulated = parseVersion(emulationVersion)
  if (emulationVersion !== "" && emulated === undefined)
    causes.push(invalidValue("spec.emulationVersion", emulationVersion, NO_VERSION))
  const binary = parseVersion(binaryVersion)
  if (binaryVersion === "") causes.push(required("spec.binaryVersion"))
  else if (binary === undefined) causes.push(invalidValue("spec.binaryVersion", binaryVersion, NO_VERSION))
  if (binaryVersion !== "" && emulationVersion !== "" && compareVersions(binary ?? ZERO, emulated ?? ZERO) < 0)
    causes.push(
      invalidValue("spec.binaryVersion", binaryVersion, "must be greater than or equal to `emulationVersion`"),
    )
  if (strategy === "") return [...causes, required("spec.strategy")]
  if (strategy === OLDEST_EMULATION_VERSION && compareVersions(emulated ?? ZERO, ZERO) === 0)
    causes.push(required("spec.emulationVersion", "must be specified when `strategy` is 'OldestEmulationVersion'"))
  pushAll(causes, strategyFaults(strategy))
  return causes
}
