/**
 * Returns the longest lifetime of a pod's certificate: a day with signers of Kubernetes, 91 days with others. Source:
 * pkg/apis/certificates/types.go, IsKubernetesSignerName in pkg/apis/core/validation/names.go.
 */
export const longestSeconds = (signerName: string): number =>
  (/^([^/]*\.)?kubernetes\.io(\/|$)/.test(signerName) ? 1 : 91) * 24 * 3600
