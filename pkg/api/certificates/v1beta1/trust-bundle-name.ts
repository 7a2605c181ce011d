import { isDNS1123Subdomain, type Problem } from "../../../apimachinery/validation/names.ts"

/**
 * Returns what is wrong with the name of a ClusterTrustBundle of a signer, or of no signer. Source:
 * ValidateClusterTrustBundleName in pkg/apis/core/validation/names.go.
 */
export function trustBundleNameProblem(signerName: string, name: string): Problem | undefined {
  if (signerName === "")
    return name.includes(":")
      ? 'ClusterTrustBundle without signer name must not have ":" in its name'
      : isDNS1123Subdomain(name)
  const prefix = trustBundlePrefix(signerName)
  return name.startsWith(prefix)
    ? isDNS1123Subdomain(name.slice(prefix.length))
    : `ClusterTrustBundle for signerName ${signerName} must be named with prefix ${prefix}`
}

/** Returns how the names of a signer's ClusterTrustBundles begin: `example.com:signer:`. */
export const trustBundlePrefix = (signerName: string): string => `${signerName.replaceAll("/", ":")}:`

/** Returns the signer that the name of a ClusterTrustBundle says; the empty text for none. */
export function signerOfTrustBundle(name: string): string {
  const end = name.lastIndexOf(":")
  return end < 0 ? "" : name.slice(0, end).replaceAll(":", "/")
}
