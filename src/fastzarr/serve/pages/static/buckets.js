// Buckets in memory, and the way they get there: wanted ones are fetched nearest first, stale requests are cancelled.

import { EDGE } from "./geometry.js";
import * as api from "./api.js";
import * as voxels from "./voxels.js";

const BATCH = 6; // buckets per request
const IN_FLIGHT = 6; // requests at once, as many as a browser opens connections
const BUDGET = 512 * 2 ** 20; // bytes of buckets kept
const PAUSE = 1500; // milliseconds before a busy or silent server is asked again

const BIAS = 2 ** 15;
const WIDTH = 2 ** 17;
export const bucketKey = ([x, y, z]) => ((z + BIAS) * WIDTH + y + BIAS) * WIDTH + x + BIAS;

const BUSY = new Set([0, 429, 503]);

export class BucketStore {
  // `layers`: name, dtype, channels, mags. `changed` is called when buckets arrived or failed.
  constructor(dataset, layers, changed, { budget = BUDGET } = {}) {
    this.dataset = dataset;
    this.changed = changed;
    this.budget = budget;
    this.bytes = 0;
    this.clock = 0;
    this.problem = null;
    this.levels = layers.map((layer) => layer.mags.map((mag) => new Level(layer, mag)));
    this.queue = [];
    this.batches = new Set();
  }

  // The bucket, or undefined where it is not loaded; `bucket.data` is null where it could not be read.
  get(layer, mag, key) {
    const bucket = this.levels[layer][mag].buckets.get(key);
    if (bucket !== undefined) bucket.used = this.clock;
    return bucket;
  }

  // Replaces what is wanted: `wishes` have layer, mag, coords, key, priority (smallest first).
  want(wishes) {
    const wanted = new Set();
    this.queue = wishes.filter((wish) => {
      const level = this.levels[wish.layer][wish.mag];
      wanted.add(`${wish.layer}/${wish.mag}/${wish.key}`);
      return !level.buckets.has(wish.key) && !level.loading.has(wish.key);
    });
    this.queue.sort((a, b) => a.priority - b.priority);
    for (const batch of this.batches) {
      if (!batch.wishes.some((wish) => wanted.has(`${wish.layer}/${wish.mag}/${wish.key}`))) this.cancel(batch);
    }
    this.pump();
  }

  get pending() {
    return this.queue.length + [...this.batches].reduce((sum, batch) => sum + batch.wishes.length, 0);
  }

  get failures() {
    return this.levels.flat().reduce((sum, level) => sum + level.failed, 0);
  }

  // Forgets what failed, so that it is asked for again.
  retry() {
    for (const level of this.levels.flat()) level.forgetFailures();
    this.problem = null;
    this.changed();
  }

  cancel(batch) {
    batch.abort.abort();
    this.finish(batch);
  }

  finish(batch) {
    this.batches.delete(batch);
    for (const wish of batch.wishes) this.levels[wish.layer][wish.mag].loading.delete(wish.key);
  }

  pump() {
    if (this.resting) return;
    while (this.queue.length > 0 && this.batches.size < IN_FLIGHT) {
      const { layer, mag } = this.queue[0];
      const wishes = [];
      this.queue = this.queue.filter((wish) => {
        const taken = wishes.length < BATCH && wish.layer === layer && wish.mag === mag;
        if (taken) wishes.push(wish);
        return !taken;
      });
      this.fetch({ wishes, abort: new AbortController() });
    }
  }

  async fetch(batch) {
    const { layer, mag } = batch.wishes[0];
    const level = this.levels[layer][mag];
    this.batches.add(batch);
    for (const wish of batch.wishes) level.loading.add(wish.key);
    try {
      const found = await api.buckets(
        this.dataset,
        level.layer.name,
        level.mag,
        batch.wishes.map((wish) => wish.coords),
        { edge: EDGE, nbytes: level.nbytes, signal: batch.abort.signal },
      );
      if (!this.batches.has(batch)) return;
      this.problem = null;
      found.forEach((bytes, index) => this.keep(level, batch.wishes[index].key, bytes));
    } catch (error) {
      if (error.name === "AbortError" || !this.batches.has(batch)) return;
      this.problem = error;
      if (BUSY.has(error.status)) this.rest();
      else for (const wish of batch.wishes) this.keep(level, wish.key, "failed");
    }
    this.finish(batch);
    this.changed();
    this.pump();
  }

  rest() {
    clearTimeout(this.resting);
    this.resting = setTimeout(() => {
      this.resting = null;
      this.changed();
    }, PAUSE);
  }

  keep(level, key, bytes) {
    this.bytes += level.keep(key, bytes, this.clock);
    if (this.bytes > this.budget) this.evict();
  }

  // Gives up what was not looked at for longest, down to three quarters of the budget.
  evict() {
    const all = this.levels.flatMap((row) => row.flatMap((level) => [...level.entries()]));
    all.sort((a, b) => a.used - b.used);
    for (const { level, key, used } of all) {
      if (this.bytes <= 0.75 * this.budget || used === this.clock) break;
      this.bytes -= level.forget(key);
    }
  }
}

// The buckets of one magnification of one layer.
class Level {
  constructor(layer, mag) {
    this.layer = layer;
    this.mag = mag;
    this.nbytes = EDGE ** 3 * layer.channels * voxels.bytesOf(layer.dtype);
    this.buckets = new Map();
    this.loading = new Set();
    this.failed = 0;
  }

  keep(key, bytes, used) {
    if (bytes === "failed") {
      this.failed++;
      this.buckets.set(key, { data: null, nbytes: 0, used });
      return 0;
    }
    if (bytes === "empty") {
      this.zeros ??= voxels.typed(this.layer.dtype, new ArrayBuffer(this.nbytes));
      this.buckets.set(key, { data: this.zeros, nbytes: 0, used });
      return 0;
    }
    this.buckets.set(key, { data: voxels.typed(this.layer.dtype, bytes), nbytes: this.nbytes, used });
    return this.nbytes;
  }

  *entries() {
    for (const [key, { used, nbytes }] of this.buckets) if (nbytes > 0) yield { level: this, key, used };
  }

  forget(key) {
    const { nbytes } = this.buckets.get(key);
    this.buckets.delete(key);
    return nbytes;
  }

  forgetFailures() {
    for (const [key, { data }] of this.buckets) if (data === null) this.buckets.delete(key);
    this.failed = 0;
  }
}
