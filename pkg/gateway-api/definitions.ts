import { gateway } from "./gateway.ts"
import { gatewayclass } from "./gatewayclass.ts"
import { grpcroute } from "./grpcroute.ts"
import { httproute } from "./httproute.ts"
import { referencegrant } from "./referencegrant.ts"
import { tlsroute } from "./tlsroute.ts"

/** The definitions of all kinds that this program serves. */
export const DEFINITIONS = [gatewayclass, gateway, httproute, grpcroute, tlsroute, referencegrant].map(({ crd }) => crd)
