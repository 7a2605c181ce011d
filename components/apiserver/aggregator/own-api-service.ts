import { APIService } from "../../../pkg/api/apiregistration/v1/apiservice.ts"
import { decodeObject } from "../../../pkg/apimachinery/decoding/decode.ts"
import { PASSED } from "./availability-check.ts"
import type { OwnExtension } from "./extension-server.ts"

/** Returns the APIService of an API of this process, which is available from the start. */
export const ownApiService = ({ apiService }: OwnExtension, lastTransitionTime: string): APIService =>
  decodeObject(APIService, {
    ...apiService,
    status: { conditions: [{ type: "Available", lastTransitionTime, ...PASSED }] },
  }).object
