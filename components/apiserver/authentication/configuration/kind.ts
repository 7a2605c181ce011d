import type { ConfigurationKind } from "../../../../pkg/config-file/config-file.ts"
import { AuthenticationConfiguration } from "./fields.ts"
import { authenticationFaults } from "./validation.ts"

/**
 * Returns the kind of the file.
 * @param disallowedIssuers the issuers of this cluster's own tokens, which no provider may have
 */
export const authenticationKind = (
  disallowedIssuers: readonly string[],
): ConfigurationKind<typeof AuthenticationConfiguration> => ({
  apiVersions: ["apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1beta1", "apiserver.config.k8s.io/v1alpha1"],
  kind: "AuthenticationConfiguration",
  schema: AuthenticationConfiguration,
  validate: (value) => authenticationFaults(value, disallowedIssuers),
})
