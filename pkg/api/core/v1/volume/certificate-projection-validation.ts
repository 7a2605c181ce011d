import type { Cause } from "../../../../apimachinery/errors.ts"
import { labelSelectorFaults } from "../../../../apimachinery/selectors/labelselector.ts"
import { invalidValue, required } from "../../../../apimachinery/validation/field-errors.ts"
import { pushAll } from "../../../../lists/push-all.ts"
import { signerNameFaults } from "../../../certificates/v1/signer-name.ts"
import { signerOfTrustBundle, trustBundleNameProblem } from "../../../certificates/v1beta1/trust-bundle-name.ts"
import { localFile } from "../path-validation.ts"
import type { ClusterTrustBundleProjection } from "./volume-projected.ts"

/** Sources of projected volumes that are off by default. Source: pkg/apis/core/validation/validation.go. */

export function trustBundleSourceFaults(source: ClusterTrustBundleProjection): readonly Cause[] {
  const { name, signerName, labelSelector, path } = source
  const causes: Cause[] = []
  if (name !== undefined && signerName !== undefined)
    causes.push(invalidValue("", source, "only one of name and signerName may be used"))
  else if (name !== undefined) {
    if (name === "") causes.push(required("name", "must be a valid object name"))
    for (const problem of [trustBundleNameProblem(signerOfTrustBundle(name), name) ?? []].flat())
      causes.push(invalidValue("name", name, `not a valid clustertrustbundlename: ${problem}`))
    if (labelSelector !== undefined)
      causes.push(invalidValue("labelSelector", labelSelector, "labelSelector must be unset if name is specified"))
  } else if (signerName !== undefined) {
    if (signerName === "") causes.push(required("signerName", "must be a valid signer name"))
    pushAll(causes, signerNameFaults("signerName", signerName))
    if (labelSelector !== undefined) pushAll(causes, labelSelectorFaults("labelSelector", labelSelector))
  } else causes.push(required("", "either name or signerName must be specified"))
  if (path === "") causes.push(required("path"))
  pushAll(causes, localFile("path", path))
  return causes
}
