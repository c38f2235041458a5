"""Two workers prepare the batches; the main process waits for them."""
import multiprocessing

from common import steps


def flip_and_crop(image, size):
    rows = [row[::-1][:size] for row in image[:size]]
    return [[(pixel * 7 + 3) % 256 / 255.0 for pixel in row] for row in rows]  # PLACE


def work(queue):
    image = [[(x * y) % 256 for x in range(256)] for y in range(256)]
    while True:
        for _ in range(8):
            batch = flip_and_crop(image, 224)
        queue.put(sum(batch[0]))


def train():
    queue = multiprocessing.Queue(2)
    workers = [multiprocessing.Process(target=work, args=(queue,), daemon=True) for _ in range(2)]
    for worker in workers:
        worker.start()
    for _ in steps():
        queue.get()
    for worker in workers:
        worker.kill()


if __name__ == "__main__":
    train()
