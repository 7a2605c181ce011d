import type { ConfigurationKind } from "../../../../pkg/config-file/config-file.ts"
import { AuthorizationConfiguration } from "./fields.ts"
import { authorizationFaults } from "./validation.ts"

export const AUTHORIZATION_KIND: ConfigurationKind<typeof AuthorizationConfiguration> = {
  apiVersions: ["apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1beta1", "apiserver.config.k8s.io/v1alpha1"],
  kind: "AuthorizationConfiguration",
  schema: AuthorizationConfiguration,
  validate: authorizationFaults,
}
