// A client that calls `slow` and is killed meanwhile: `node caller.mjs URL TOKEN ID`.
import { call, connect, overHttp } from './client.mjs';

const [url, token, id] = process.argv.slice(2);
const client = await connect(overHttp(url, token));
await call(client, 'slow', { input: 'parcel', run_id: id });
