import { version } from "../version/version.ts"
import { gateway } from "./gateway.ts"
import { gatewayclass } from "./gatewayclass.ts"
import { grpcroute } from "./grpcroute.ts"
import { httproute } from "./httproute.ts"
import { BUNDLE_VERSION, MANAGED_BY, MANAGER, WRITTEN_BY } from "./k3ts-class.ts"
import { referencegrant } from "./referencegrant.ts"
import { tlsroute } from "./tlsroute.ts"

/** The release of Gateway API, standard channel, that these definitions are from. */
const BUNDLE = "v1.6.1"

/** The CustomResourceDefinitions of all served kinds, as the API server creates them. */
export const DEFINITIONS = [gatewayclass, gateway, httproute, grpcroute, tlsroute, referencegrant].map(({ crd }) => ({
  ...crd,
  metadata: {
    ...crd.metadata,
    labels: { [MANAGED_BY]: MANAGER },
    annotations: {
      "api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/gateway-api",
      [BUNDLE_VERSION]: BUNDLE,
      "gateway.networking.k8s.io/channel": "standard",
      [WRITTEN_BY]: version,
    },
  },
}))
